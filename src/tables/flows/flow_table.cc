// SPDX-License-Identifier: Apache-2.0
#include "flow_table.h"

#include <algorithm>
#include <cstddef>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/random.h"

namespace penumbra {
namespace {

static_assert(FlowTable::kNone == FLOWS_NO_RECORD);
static_assert(sizeof(flow_record) == 64, "a lookup and the count that follows touch one cache line");
static_assert(offsetof(flows_view, cuckoo) == 0, "so that the regions' offsets are right");

/// Returns the longest digests for which the first version of the table has at most a sixteenth of the buckets of the
/// last. Longer digests collide less often. CuckooTable explains why a longer digest needs more buckets.
CuckooTable::Shape shape_for(std::size_t most) {
  const auto value_bits = static_cast<unsigned>(std::bit_width(most));
  const unsigned last_bits = std::max(14U, static_cast<unsigned>(std::bit_width(most * 20 / 19 / CUCKOO_TABLE_SLOTS)));
  return {.digest_bits = std::min(60U, 64 - 1 - value_bits + last_bits - 4), .value_bits = value_bits, .most = most};
}

std::size_t checked(std::size_t most) {
  if (most == 0 || most > FlowTable::kMost) throw std::invalid_argument("a table of 1 to 100 million flows");
  return most;
}

std::array<std::uint64_t, FLOWS_SECRETS> secrets_of(std::uint64_t seed) {
  std::array<std::uint64_t, FLOWS_SECRETS> secrets{};
  std::ranges::generate(secrets, [random = Random(seed)]() mutable { return random.next(); });
  return secrets;
}

}  // namespace

FlowTable::FlowTable(std::size_t most, std::uint64_t seed, GracePeriods& grace_periods)
    : most_(checked(most)),
      records_(most + 1),
      found_(most / 64 + 1),
      secrets_(secrets_of(seed)),
      digest_mask_((std::uint64_t{1} << shape_for(most).digest_bits) - 1),
      grace_periods_(grace_periods),
      cuckoo_("flows_lookup", shape_for(most), seed, grace_periods,
              [this](Table& table, const cuckoo_table_view& cuckoo, std::vector<TableRegion> regions) {
                publish(table, cuckoo, std::move(regions));
              }) {}

/// Nobody reads the view before the current one any more: the cuckoo table waits for a grace period when it grows.
void FlowTable::publish(Table& table, const cuckoo_table_view& cuckoo, std::vector<TableRegion> regions) {
  flows_view& next = view_ == views_.data() ? views_[1] : views_[0];
  next = {.cuckoo = cuckoo, .record = records_.data(), .secret = {}, .digest_mask = digest_mask_};
  std::ranges::copy(secrets_, next.secret);
  regions.push_back(
      {offsetof(flows_view, record), reinterpret_cast<const std::byte*>(records_.data()), records_.bytes()});
  view_ = &next;
  table.publish(next, std::move(regions));
}

FlowTable::Insertion FlowTable::insert(const flow_key& key, std::uint32_t first) {
  const std::uint64_t its_digest = digest(key);
  if (const std::uint32_t found = cuckoo_.find(its_digest); found != kNone) {
    if (flows_has_key(&records_[found], &key) != 0) return {Inserted::known, found};
    return {Inserted::collision, kNone};
  }
  const std::uint32_t number = take_number();
  if (number == kNone) return {Inserted::full, kNone};
  flow_record& record = records_[number];
  record = {.key = key, .packets = 0, .bytes = 0, .first = first, .last = first};
  constexpr std::size_t kRecords = 2;  // index of the region
  table().changed(kRecords, number * sizeof(flow_record), sizeof(flow_record));
  try {
    cuckoo_.insert(its_digest, number);
  } catch (const std::length_error&) {
    give_back(number);
    return {Inserted::no_place, kNone};
  } catch (const std::bad_alloc&) {
    give_back(number);
    return {Inserted::no_place, kNone};
  } catch (const std::system_error&) {
    give_back(number);
    return {Inserted::no_place, kNone};
  }
  found_[number / 64] |= bit(number);
  return {Inserted::fresh, number};
}

std::uint32_t FlowTable::find(const flow_key& key) const {
  const std::uint32_t found = cuckoo_.find(digest(key));
  return found != kNone && flows_has_key(&records_[found], &key) != 0 ? found : kNone;
}

void FlowTable::remove(std::uint32_t record, std::uint8_t why) {
  const bool there = record < end_ && (found_[record / 64] & bit(record)) != 0;
  if (!there) throw std::invalid_argument("no flow has the record " + std::to_string(record));
  removed_.push_back({record, why});
  cuckoo_.remove(digest(key_of(records_[record])));
  found_[record / 64] &= ~bit(record);
}

void FlowTable::reclaim(const std::function<void(flow_record& record, std::uint8_t why)>& visit, bool wait) {
  do {
    if (waiting_.empty() && !removed_.empty()) {
      waiting_.swap(removed_);
      period_ = grace_periods_.start();
    }
    if (waiting_.empty() || !grace_periods_.elapsed(period_, wait)) return;
    for (const auto& [number, why] : waiting_) {
      visit(records_[number], why);
      give_back(number);
    }
    waiting_.clear();
  } while (!removed_.empty());
}

std::size_t FlowTable::memory_bytes() const {
  return cuckoo_.memory_bytes() + end_ * sizeof(flow_record) + end_ / 8;
}

/// Returns the number of the record that was freed last, which is most likely cached, or kNone if all are in use.
std::uint32_t FlowTable::take_number() {
  std::uint32_t number = free_;
  if (number != kNone) {
    free_ = static_cast<std::uint32_t>(records_[number].packets);
  } else {
    if (end_ > most_) return kNone;
    number = end_++;
  }
  ++in_use_;
  return number;
}

void FlowTable::give_back(std::uint32_t number) {
  records_[number].packets = free_;
  free_ = number;
  --in_use_;
}

}  // namespace penumbra
