// SPDX-License-Identifier: Apache-2.0
//
// The owner of flow records, looked up by the shader `flows_lookup` (flows.shader.h).
//
// A record that is taken out is found no more, but a reader that found it before may still be counting into it. So it
// keeps its key and its counters until a grace period has elapsed; then reclaim() gives it for the last time, with its
// last counters, and its number serves another flow.
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

/// What a record holds at one moment.
struct FlowCounts {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  std::uint32_t first = 0;  ///< ms of a clock that wraps, and so is `last`
  std::uint32_t last = 0;
  std::uint8_t tcp_flags = 0;

  bool operator==(const FlowCounts&) const = default;
};

/// What a packet adds to its flow's record.
struct FlowPacket {
  std::uint32_t bytes = 0;
  std::uint32_t time = 0;  ///< ms of a clock that wraps
  std::uint8_t tcp_flags = 0;
};

/// Flags of TCP by which a flow says that it ends.
inline constexpr std::uint8_t kTcpFin = 0x01, kTcpRst = 0x04, kTcpEnd = kTcpFin | kTcpRst;

/// Any thread: counts a packet in its flow's record. Packets of one flow nearly always come to one thread; so what
/// need not be written is not. True of the first packet that has a FIN or RST, and of no other one.
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
  // A packet that waited to be counted is older than those that did not.
  if (static_cast<std::int32_t>(packet.time - last.load(kRelaxed)) > 0) last.store(packet.time, kRelaxed);
  return ends;
}

/// Any thread.
inline FlowCounts counts_of(flow_record& record) {
  const auto read = [](auto& number) { return std::atomic_ref(number).load(std::memory_order_relaxed); };
  return {.packets = read(record.packets),
          .bytes = read(record.bytes),
          .first = record.first,
          .last = read(record.last),
          .tcp_flags = static_cast<std::uint8_t>(read(record.key.tuple) & FLOWS_FLAGS_MASK)};
}

/// Any thread.
inline flow_key key_of(flow_record& record) {
  flow_key key = {.source = {record.key.source[0], record.key.source[1]},
                  .destination = {record.key.destination[0], record.key.destination[1]},
                  .tuple = 0};
  key.tuple = std::atomic_ref(record.key.tuple).load(std::memory_order_relaxed) & ~FLOWS_FLAGS_MASK;
  return key;
}

/// Flows and their records, numbered from 1. One thread changes and asks it; lookups on any thread go through table()
/// and an engine, and count() into the record that they found until they hold nothing any more.
class FlowTable {
 public:
  static constexpr std::size_t kMost = 100'000'000;
  static constexpr std::uint32_t kNone = 0;

  enum class Inserted : std::uint8_t {
    fresh,      ///< the flow is new
    known,      ///< it was there
    full,       ///< there are as many records as there may be
    no_place,   ///< too many flows meet in two buckets, or there is no memory to grow into
    collision,  ///< another flow has the same digest
  };
  struct Insertion {
    Inserted what = Inserted::full;
    std::uint32_t record = kNone;
  };

  /// An empty table, published, of up to `most` records (1 to kMost): 64 bytes each, which only those cost that were
  /// once in use. With a seed that nobody knows, nobody can choose flows that meet. `grace_periods` outlives it.
  /// Throws std::system_error if there is no room for it in the address space.
  FlowTable(std::size_t most, std::uint64_t seed, GracePeriods& grace_periods);
  FlowTable(const FlowTable&) = delete;
  FlowTable& operator=(const FlowTable&) = delete;

  /// Looks for the flow, and adds it if it is not there, with nothing counted and `first` as the time of its first and
  /// last packet. Takes effect as CuckooTable::insert() does.
  Insertion insert(const flow_key& key, std::uint32_t first);
  /// The record of a flow; kNone if it is not there.
  std::uint32_t find(const flow_key& key) const;
  /// Takes a flow out. Its record can be read until reclaim() gives it, with what is said here of why it was taken out.
  void remove(std::uint32_t record, std::uint8_t why = 0);
  /// Gives what was taken out and is held by nobody any more; with `wait`, all that was taken out.
  void reclaim(const std::function<void(flow_record& record, std::uint8_t why)>& visit, bool wait = false);
  void commit() { cuckoo_.commit(); }
  /// Grows so that there is place for so many.
  void reserve(std::size_t flows) { cuckoo_.reserve(flows); }

  /// Of a number that a lookup gave, or insert().
  flow_record& record(std::uint32_t number) { return records_[number]; }
  /// Visits the flows whose records have numbers from `begin` up to before `end`. `visit` may remove what it is given.
  template <class Visit>
  void for_each(std::uint32_t begin, std::uint32_t end, Visit visit);
  /// Whether lookups find the flow of that record.
  bool is_found(std::uint32_t number) const { return (found_[number / 64] & bit(number)) != 0; }
  /// One past the highest number that was ever used.
  std::uint32_t end() const { return end_; }

  std::size_t size() const { return cuckoo_.size(); }  ///< flows
  std::size_t records() const { return in_use_; }      ///< with those that were taken out and not yet given
  std::size_t most() const { return most_; }           ///< records
  std::size_t memory_bytes() const;                    ///< of what was ever in use

  /// What engines read.
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
  HugeArray<flow_record> records_;  ///< by number; the free ones are a list, by `packets`
  HugeArray<std::uint64_t> found_;  ///< a bit for each number: lookups find it
  std::array<flows_view, 2> views_{};
  const flows_view* view_ = nullptr;  ///< the current one of those two
  const std::array<std::uint64_t, FLOWS_SECRETS> secrets_;
  const std::uint64_t digest_mask_;
  std::uint32_t end_ = 1;
  std::uint32_t free_ = kNone;  ///< the list's first
  std::size_t in_use_ = 0;
  std::vector<Removed> removed_;  ///< lately
  std::vector<Removed> waiting_;  ///< for the grace period `period_`
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
