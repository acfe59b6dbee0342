// SPDX-License-Identifier: Apache-2.0
//
// Lookups while an IPv4 table changes. The changes are known beforehand, and so is what is right for each of a set of
// addresses after each change. A reader notes how many changes were complete before its lookup and how many had begun
// after it: the answer must be right after some number of changes between the two.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dir24_8.h"
#include "dir24_8_oracle.h"
#include "engines/conformance.h"

namespace penumbra::dir24_8_oracle {

inline constexpr std::uint32_t kRegion = 0x0A000000;  ///< 10.0.0.0/12, where prefixes meet
inline constexpr unsigned kRegionLength = 12;
inline constexpr std::size_t kReaders = 2;
inline constexpr std::size_t kRounds = kSanitizerScale == 1 ? 10 : 3;
inline constexpr std::size_t kChangesPerRound = 1'000'000 / kSanitizerScale / kRounds;
inline constexpr std::size_t kAddresses = 2'000;
inline constexpr std::size_t kBatch = 64;

struct Change {
  enum class Kind : std::uint8_t { insert, remove, load };
  Kind kind = Kind::insert;
  Dir24_8::Entry entry;                 ///< of insert and remove
  std::vector<Dir24_8::Entry> entries;  ///< of load
};

/// What is right for one address: from how many changes on which answer.
using Answers = std::vector<std::pair<std::size_t, std::uint16_t>>;

/// Whether `answer` is right after some number of changes from `first` to `last`.
inline bool right_between(const Answers& answers, std::uint16_t answer, std::size_t first, std::size_t last) {
  const auto later = [](std::size_t changes, const auto& step) { return changes < step.first; };
  auto step = std::upper_bound(answers.begin(), answers.end(), first, later) - 1;
  for (; step != answers.end() && step->first <= last; ++step) {
    if (step->second == answer) return true;
  }
  return false;
}

/// The script of a test: changes, addresses, and the right answers.
class ChurnScript {
 public:
  ChurnScript() {
    make_pool();
    for (std::size_t round = 0; round < kRounds; ++round) {
      add_load();
      for (std::size_t i = 1; i < kChangesPerRound; ++i) add_change();
    }
  }

  std::vector<Change> changes;
  std::vector<std::uint32_t> addresses;  ///< sorted
  std::vector<Answers> answers;          ///< of each address

 private:
  /// Prefixes that come and go: each length from 4 on. There are few short ones, as elsewhere.
  void make_pool() {
    for (unsigned length = 4; length <= 32; ++length) {
      const std::size_t most = length < 24 ? 400 : length == 24 ? 3'000 : 1'500;
      const std::size_t all = length <= kRegionLength ? 1 : std::size_t{1} << (length - kRegionLength);
      for (std::size_t i = 0; i < std::min(all, most); ++i) pool_.push_back(prefix_of(any_address(), length));
    }
    std::sort(pool_.begin(), pool_.end());
    pool_.erase(std::unique(pool_.begin(), pool_.end()), pool_.end());
    while (addresses.size() < kAddresses) {
      const Ipv4Prefix prefix = pool_[random_() % pool_.size()];
      const std::uint32_t first = prefix.address.value, last = prefix.last().value;
      addresses.insert(addresses.end(), {first, last, first - 1, last + 1, any_address()});
    }
    std::sort(addresses.begin(), addresses.end());
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    answers.assign(addresses.size(), Answers{{0, Dir24_8::kNoRoute}});
  }

  void add_load() {
    Change change{Change::Kind::load, {}, {}};
    oracle_.clear();
    for (const Ipv4Prefix prefix : pool_) {
      if (random_() % 2 == 0) continue;
      change.entries.push_back({prefix, any_next_hop()});
      oracle_.insert(prefix, change.entries.back().next_hop);
    }
    changes.push_back(std::move(change));
    note_answers(prefix_of(0, 0));
  }

  void add_change() {
    Change change{Change::Kind::insert, {pool_[random_() % pool_.size()], any_next_hop()}, {}};
    if (oracle_.find(change.entry.prefix) && random_() % 4 != 0) {
      change.kind = Change::Kind::remove;
      oracle_.remove(change.entry.prefix);
    } else {
      oracle_.insert(change.entry.prefix, change.entry.next_hop);
    }
    const Ipv4Prefix prefix = change.entry.prefix;
    changes.push_back(std::move(change));
    note_answers(prefix);
  }

  /// Notes what is right for the addresses under `prefix` after the last change.
  void note_answers(Ipv4Prefix prefix) {
    const auto begin = std::lower_bound(addresses.begin(), addresses.end(), prefix.address.value);
    const auto end = std::upper_bound(begin, addresses.end(), prefix.last().value);
    for (auto i = static_cast<std::size_t>(begin - addresses.begin());
         i < static_cast<std::size_t>(end - addresses.begin()); ++i) {
      const std::uint16_t answer = oracle_.lookup(addresses[i]);
      if (answer != answers[i].back().second) answers[i].emplace_back(changes.size(), answer);
    }
  }

  std::uint32_t any_address() { return kRegion | static_cast<std::uint32_t>(random_()) >> kRegionLength; }
  std::uint16_t any_next_hop() { return static_cast<std::uint16_t>(random_() % Dir24_8::kMaxNextHops); }

  std::mt19937 random_{5};
  std::vector<Ipv4Prefix> pool_;
  Oracle oracle_;
};

/// How far the changes are, for the readers; and what the readers saw, for the test.
struct Progress {
  std::atomic<std::size_t> begun{0}, complete{0};
  std::atomic<bool> over{false};
  std::array<std::atomic<std::size_t>, kReaders> lookups{};
  std::atomic<std::size_t> wrong{0};
};

inline void read(conformance::ShaderQueue& lookup, const ChurnScript& script, QuiescentStates& states,
                 std::size_t reader, Progress& progress) {
  std::mt19937 random(static_cast<std::mt19937::result_type>(100 + reader));
  std::vector<std::size_t> chosen(kBatch);
  std::vector<std::uint32_t> addresses(kBatch);
  std::vector<std::uint16_t> found(kBatch);
  while (!progress.over) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      chosen[i] = random() % script.addresses.size();
      addresses[i] = script.addresses[chosen[i]];
    }
    const std::size_t complete = progress.complete;
    lookup({addresses.data()}, {found.data()}, kBatch, kBatch);
    const std::size_t begun = progress.begun;
    states.quiescent(reader);
    for (std::size_t i = 0; i < kBatch; ++i) {
      if (!right_between(script.answers[chosen[i]], found[i], complete, begun)) ++progress.wrong;
    }
    ++progress.lookups[reader];
  }
  states.leave(reader);
}

inline void apply(Dir24_8& table, const Change& change) {
  switch (change.kind) {
    case Change::Kind::insert:
      table.insert(change.entry.prefix, change.entry.next_hop);
      break;
    case Change::Kind::remove:
      table.remove(change.entry.prefix);
      break;
    case Change::Kind::load:
      table.load(change.entries);
      break;
  }
  table.commit();
}

/// Never shows readers an answer that was not right: `engine` runs the shader of `looked_up`, which follows `table`,
/// whose grace periods are `states`.
inline void expect_right_answers_under_churn(const std::string& engine, Dir24_8& table, Table& looked_up,
                                             QuiescentStates& states) {
  const ChurnScript script;
  conformance::ShaderRun run(engine, looked_up.name(), looked_up);
  Progress progress;
  std::vector<std::unique_ptr<conformance::ShaderQueue>> queues;
  queues.reserve(kReaders);
  std::vector<std::thread> readers;
  readers.reserve(kReaders);
  for (std::size_t reader = 0; reader < kReaders; ++reader) queues.push_back(run.open_queue());
  for (std::size_t reader = 0; reader < kReaders; ++reader) {
    readers.emplace_back([&, reader] { read(*queues[reader], script, states, reader, progress); });
  }

  std::vector<std::uint16_t> found(script.addresses.size());
  std::size_t wrong_at_rest = 0;
  for (std::size_t i = 0; i < script.changes.size(); ++i) {
    progress.begun = i + 1;
    apply(table, script.changes[i]);
    progress.complete = i + 1;
    if ((i + 1) % kChangesPerRound != 0) continue;
    // Between two rounds nothing changes, and there is one right answer.
    run({script.addresses.data()}, {found.data()}, found.size(), kBatch);
    for (std::size_t j = 0; j < found.size(); ++j) {
      wrong_at_rest += right_between(script.answers[j], found[j], i + 1, i + 1) ? 0 : 1;
    }
    for (auto& lookups : progress.lookups) {
      for (const std::size_t before = lookups; lookups == before;) std::this_thread::yield();
    }
  }
  progress.over = true;
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(wrong_at_rest, 0U);
  EXPECT_EQ(progress.wrong, 0U);
}

}  // namespace penumbra::dir24_8_oracle
