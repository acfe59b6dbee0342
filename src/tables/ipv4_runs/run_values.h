// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "penumbra/huge_memory.h"
#include "penumbra/table.h"
#include "penumbra/table_changes.h"

namespace penumbra {

/// The values of runs, in an array that readers may be reading: blocks of up to kMostRuns for as many owners as
/// kOwners, each with one block or none. A single value needs no block: the array begins with every value there is.
class RunValues {
 public:
  static constexpr std::size_t kMostRuns = 32, kOwners = std::size_t{1} << 19;

  /// `region`: what the array is of its table.
  RunValues(GracePeriods& grace_periods, std::size_t region);

  const std::uint16_t* data() const { return values_.data(); }
  std::size_t bytes() const { return values_.bytes(); }
  std::size_t used_bytes() const { return lines_begun_ * kLine * sizeof(std::uint16_t); }

  /// Puts these (at least one) somewhere where no reader is; the index of the first. May wait for a grace period if
  /// there were more changes of late than there are owners.
  std::uint32_t place(std::span<const std::uint16_t> values);
  /// Writes over what was placed at `first`, as many as there.
  void write(std::uint32_t first, std::span<const std::uint16_t> values);
  /// No new reader comes to the `count` that were placed at `first`, once the present grace period has started.
  void retire(std::uint32_t first, unsigned count);
  void start_grace_period();
  /// From now on there are readers, and what is written is announced.
  void announce_to(Table& table) { table_ = &table; }
  /// Announces what is still held back.
  void flush() { changes_.flush(*table_); }

 private:
  static constexpr std::size_t kSingles = std::size_t{1} << 16;
  static constexpr std::size_t kLine = 32;  ///< elements of a cache line
  static constexpr unsigned kSizes = 5;     ///< blocks are of 2, 4, 8, 16 and 32
  /// Of a size there are never more blocks than owners, one for what an owner is about to have, and a line's rest.
  static constexpr std::size_t kMostBlocks = kOwners + kLine;
  static constexpr std::size_t kElements = kSingles + kMostBlocks * (2 + 4 + 8 + 16 + 32);

  struct Retired {
    std::uint64_t token;
    std::uint32_t first;
    unsigned size;
  };
  static unsigned size_for(std::size_t count) { return static_cast<unsigned>(std::bit_width(count - 1)) - 1; }
  static std::size_t elements(unsigned size) { return std::size_t{2} << size; }

  std::uint32_t take(unsigned size);
  void reclaim(bool wait);

  GracePeriods& grace_periods_;
  HugeArray<std::uint16_t> values_{kElements};
  std::size_t lines_begun_ = kSingles / kLine;
  std::array<std::size_t, kSizes> blocks_{};  ///< made of each size so far
  std::array<std::vector<std::uint32_t>, kSizes> free_;
  std::vector<Retired> retiring_;  ///< since the last grace period was started
  std::deque<Retired> retired_;    ///< in the order of their tokens
  TableChanges<std::uint16_t> changes_;
  Table* table_ = nullptr;
};

}  // namespace penumbra
