// SPDX-License-Identifier: Apache-2.0
#include "tables/rules/rule_records.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <utility>

namespace penumbra {
namespace {

static_assert(sizeof(rules_record) == 64, "a rule that is come upon costs one cache line");

constexpr std::uint32_t kFirstRoom = 1024;

template <class Word>
void write(Word& word, Word value) {
  std::atomic_ref(word).store(value, std::memory_order_relaxed);
}

template <class Word>
void write_last(Word& word, Word value) {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

}  // namespace

RuleRecords::RuleRecords(GracePeriods& grace_periods, Unlink unlink, std::uint32_t last_state)
    : grace_periods_(grace_periods),
      unlink_(std::move(unlink)),
      last_state_(last_state),
      records_(kMostRules + 1),
      ports_(kMostRules + 1),
      use_(kMostRules + 1),
      room_(kFirstRoom),
      removed_(grace_periods),
      dead_(grace_periods) {}

bool RuleRecords::make_room(std::uint32_t number) {
  if (number == RULES_NONE || number > kMostRules) {
    throw std::invalid_argument("rules are numbered from 1 to " + std::to_string(kMostRules) + ", not " +
                                std::to_string(number));
  }
  if (number < room_) return false;
  while (room_ <= number) room_ *= 2;
  room_ = std::min(room_, kMostRules + 1);
  return true;
}

void RuleRecords::append_regions(Table& table, const Offsets& offsets, std::vector<TableRegion>& regions) {
  const std::size_t first = regions.size();
  if (table_ == nullptr) {
    table_ = &table;
    first_region_ = first;
    record_changes_ = TableChanges<rules_record>(first);
    port_changes_ = TableChanges<rules_ports>(first + 1);
  }
  const auto bytes = [](const auto* data) { return reinterpret_cast<const std::byte*>(data); };
  regions.push_back({offsets.record, bytes(records_.data()), room_ * sizeof(rules_record)});
  regions.push_back({offsets.ports, bytes(ports_.data()), room_ * sizeof(rules_ports)});
  regions.push_back({offsets.state, bytes(state_.data()), sizeof state_});
}

void RuleRecords::add(std::uint32_t number, const RuleWords& value, const RuleMatch& match, std::uint64_t rank,
                      std::uint32_t kind) {
  if (use_[number] == Use::removed || use_[number] == Use::dead) reclaim(true);
  if (use_[number] != Use::free) {
    throw std::invalid_argument("a rule has the number " + std::to_string(number) + ", or had until this commit");
  }
  rules_record& record = records_[number];
  write(record.born, state_[0] + 1);
  for (std::size_t word = 0; word < RULES_WORDS; ++word) write(record.value[word], value[word]);
  write(record.rank, rank);
  write(record.next, std::uint32_t{RULES_NONE});
  write(record.ranges, kind);
  rules_ports& ports = ports_[number];
  write(ports.source_first, match.source_ports.first);
  write(ports.source_last, match.source_ports.last);
  write(ports.destination_first, match.destination_ports.first);
  write(ports.destination_last, match.destination_ports.last);
  write_last(record.dies, kNever);
  announce(number);
  port_changes_.add(*table_, number);
  use_[number] = Use::live;
  end_ = std::max(end_, number + 1);
  ++size_;
}

void RuleRecords::forget(std::uint32_t number) {
  write_last(records_[number].dies, std::uint32_t{0});
  announce(number);
  use_[number] = Use::free;
  --size_;
}

void RuleRecords::remove(std::uint32_t number) {
  if (number > kMostRules || use_[number] != Use::live) {
    throw std::invalid_argument("no rule has the number " + std::to_string(number));
  }
  going_.push_back(number);
  write_last(records_[number].dies, state_[0] + 1);
  announce(number);
  use_[number] = Use::removed;
  --size_;
}

void RuleRecords::commit() {
  set_state(state_[0] + 1);
  for (const std::uint32_t number : going_) removed_.add(number);
  going_.clear();
  removed_.start();
  if (state_[0] >= last_state_) count_anew();
}

void RuleRecords::set_state(std::uint32_t state) {
  record_changes_.flush(*table_);
  port_changes_.flush(*table_);
  write_last(state_[0], state);
  table_->changed(first_region_ + 2, 0, sizeof state_[0]);
  table_->commit();
}

void RuleRecords::reclaim(bool wait) {
  dead_.take([this](std::uint32_t number) { use_[number] = Use::free; });
  removed_.take(
      [this](std::uint32_t number) {
        unlink_(number);
        use_[number] = Use::dead;
        dead_.add(number);
      },
      wait);
  if (wait) {
    dead_.take([this](std::uint32_t number) { use_[number] = Use::free; }, true);
  } else {
    dead_.start();
  }
}

/// Restarts the count of states. All rules become old in every state, and removed rules exist in no future state.
/// Readers of the last state must be gone before any new rule is added.
void RuleRecords::count_anew() {
  reclaim(true);
  for (std::uint32_t number = 1; number < end_; ++number) {
    rules_record& record = records_[number];
    write(use_[number] == Use::live ? record.born : record.dies, std::uint32_t{0});
    announce(number);
  }
  set_state(0);
  grace_periods_.elapsed(grace_periods_.start(), true);
}

void RuleRecords::set_next(std::uint32_t number, std::uint32_t next) {
  write_last(records_[number].next, next);
  announce(number);
}

std::size_t RuleRecords::memory_bytes() const {
  return end_ * (sizeof(rules_record) + sizeof(rules_ports) + sizeof(Use)) + sizeof state_;
}

}  // namespace penumbra
