// SPDX-License-Identifier: Apache-2.0
//
// The owner of flow records, which the shader `flows_lookup` (flows.shader.h) finds.
//
// Lookups do not find a removed record, but a reader that found it earlier may still count into it. The record
// therefore keeps its key and counters until a grace period has elapsed. Then reclaim() passes the record with its
// final counters to the caller, and its number is free for another flow.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "penumbra/huge_memory.h"
#include "tables/cuckoo/cuckoo.h"
#include "tables/flows/flows.shader.h"

inline bool operator==(const flow_key& a, const flow_key& b) {
  return a.source[0] == b.source[0] && a.source[1] == b.source[1] && a.destination[0] == b.destination[0] &&
         a.destination[1] == b.destination[1] && a.tuple == b.tuple;
}

namespace penumbra {

/// Counters of a record at one moment.
struct FlowCounts {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  std::uint32_t first = 0;  ///< ms of a clock that wraps, like `last`
  std::uint32_t last = 0;
  std::uint8_t tcp_flags = 0;

  bool operator==(const FlowCounts&) const = default;
};

/// Counts that a packet adds to the record of its flow.
struct FlowPacket {
  std::uint32_t bytes = 0;
  std::uint32_t time = 0;  ///< ms of a clock that wraps
  std::uint8_t tcp_flags = 0;
};

/// TCP flags that end a flow.
inline constexpr std::uint8_t kTcpFin = 0x01, kTcpRst = 0x04, kTcpEnd = kTcpFin | kTcpRst;

/// Counts a packet in the record of its flow. Any thread may call this function. Packets of one flow nearly always
/// arrive on one thread, so fields that keep their value are not written. Returns true only for the first packet with
/// FIN or RST.
inline bool count(flow_record& record, const FlowPacket& packet) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  std::atomic_ref(record.packets).fetch_add(1, kRelaxed);
  std::atomic_ref(record.bytes).fetch_add(packet.bytes, kRelaxed);
  bool ends = false;
  const std::atomic_ref tuple(record.key.tuple);
  if ((packet.tcp_flags & ~tuple.load(kRelaxed)) != 0) {
    const std::uint64_t before = tuple.fetch_or(packet.tcp_flags, kRelaxed);
    ends = (packet.tcp_flags & kTcpEnd) != 0 && (before & kTcpEnd) == 0;
  }
  const std::atomic_ref last(record.last);
  // A packet that was counted late is older than the last packet.
  if (static_cast<std::int32_t>(packet.time - last.load(kRelaxed)) > 0) last.store(packet.time, kRelaxed);
  return ends;
}

/// Returns the counters. Any thread may call this function.
inline FlowCounts counts_of(flow_record& record) {
  const auto read = [](auto& number) { return std::atomic_ref(number).load(std::memory_order_relaxed); };
  return {.packets = read(record.packets),
          .bytes = read(record.bytes),
          .first = record.first,
          .last = read(record.last),
          .tcp_flags = static_cast<std::uint8_t>(read(record.key.tuple) & FLOWS_FLAGS_MASK)};
}

/// Returns the key without TCP flags. Any thread may call this function.
inline flow_key key_of(flow_record& record) {
  flow_key key = {.source = {record.key.source[0], record.key.source[1]},
                  .destination = {record.key.destination[0], record.key.destination[1]},
                  .tuple = 0};
  key.tuple = std::atomic_ref(record.key.tuple).load(std::memory_order_relaxed) & ~FLOWS_FLAGS_MASK;
  return key;
}

/// Flows and their records, numbered from 1. One thread calls all functions. Lookups on any thread go through table()
/// and an engine. Readers call count() on the records that they found until their next quiescent state.
class FlowTable {
 public:
  static constexpr std::size_t kMost = 100'000'000;
  static constexpr std::uint32_t kNone = 0;

  enum class Inserted : std::uint8_t {
    fresh,      ///< the flow is new
    known,      ///< the flow was present
    full,       ///< all records are in use
    no_place,   ///< the two buckets are full of other flows, or memory to grow is missing
    collision,  ///< another flow has the same digest
  };
  struct Insertion {
    Inserted what = Inserted::full;
    std::uint32_t record = kNone;
  };

  /// Makes and publishes an empty table of up to `most` records (1 to kMost). A record has 64 bytes, and only records
  /// that were ever used need memory. A secret seed prevents attackers from choosing flows that collide.
  /// `grace_periods` must outlive the table. Throws std::system_error if the address space is exhausted.
  FlowTable(std::size_t most, std::uint64_t seed, GracePeriods& grace_periods);
  FlowTable(const FlowTable&) = delete;
  FlowTable& operator=(const FlowTable&) = delete;

  /// Finds or adds the flow. A new flow has no counts, and `first` is the time of its first and last packet. Takes
  /// effect like CuckooTable::insert().
  Insertion insert(const flow_key& key, std::uint32_t first);
  /// Returns the record of a flow, or kNone.
  std::uint32_t find(const flow_key& key) const;
  /// Removes a flow. The flow's record is readable until reclaim() passes the record to the caller together with `why`.
  void remove(std::uint32_t record, std::uint8_t why = 0);
  /// Calls `visit` for removed records that no reader holds any more, and frees them. If `wait`, waits until this is
  /// true of all removed records.
  void reclaim(const std::function<void(flow_record& record, std::uint8_t why)>& visit, bool wait = false);
  void commit() { cuckoo_.commit(); }
  /// Grows until `flows` flows fit.
  void reserve(std::size_t flows) { cuckoo_.reserve(flows); }

  /// Returns a record by a number of insert() or of a lookup.
  flow_record& record(std::uint32_t number) { return records_[number]; }
  /// Calls `visit` for each flow whose record number is in [begin, end). `visit` may remove its argument.
  template <class Visit>
  void for_each(std::uint32_t begin, std::uint32_t end, Visit visit);
  /// Returns true if lookups find the flow of the record.
  bool is_found(std::uint32_t number) const { return (found_[number / 64] & bit(number)) != 0; }
  /// Returns one past the highest number that was ever used.
  std::uint32_t end() const { return end_; }

  std::size_t size() const { return cuckoo_.size(); }  ///< number of flows
  std::size_t records() const { return in_use_; }      ///< records in use, including removed ones
  std::size_t most() const { return most_; }           ///< maximum number of records
  std::size_t memory_bytes() const;                    ///< memory that was ever used

  /// Returns the table that engines read.
  Table& table() { return cuckoo_.table(); }

 private:
  struct Removed {
    std::uint32_t record = kNone;
    std::uint8_t why = 0;
  };

  void publish(Table& table, const cuckoo_table_view& cuckoo, std::vector<TableRegion> regions);
  std::uint64_t digest(const flow_key& key) const { return flows_digest(view_, &key); }
  std::uint32_t take_number();
  void give_back(std::uint32_t number);
  std::uint64_t bit(std::uint32_t number) const { return std::uint64_t{1} << (number % 64); }

  const std::size_t most_;
  HugeArray<flow_record> records_;  ///< by number; free records form a list, linked by `packets`
  HugeArray<std::uint64_t> found_;  ///< one bit per number, set if lookups find the record
  std::array<flows_view, 2> views_{};
  const flows_view* view_ = nullptr;  ///< the current element of `views_`
  const std::array<std::uint64_t, FLOWS_SECRETS> secrets_;
  const std::uint64_t digest_mask_;
  std::uint32_t end_ = 1;
  std::uint32_t free_ = kNone;  ///< first record of the free list
  std::size_t in_use_ = 0;
  std::vector<Removed> removed_;  ///< removed since the last reclaim() started a grace period
  std::vector<Removed> waiting_;  ///< removed records that wait for the grace period `period_`
  std::uint64_t period_ = 0;
  GracePeriods& grace_periods_;
  CuckooTable cuckoo_;
};

template <class Visit>
void FlowTable::for_each(std::uint32_t begin, std::uint32_t end, Visit visit) {
  for (std::uint32_t word = begin / 64; std::uint64_t{word} * 64 < end; ++word) {
    for (std::uint64_t bits = found_[word]; bits != 0; bits &= bits - 1) {
      const std::uint32_t number = word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
      if (number >= begin && number < end) visit(number);
    }
  }
}

}  // namespace penumbra
