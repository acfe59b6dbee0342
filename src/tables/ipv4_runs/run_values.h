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

/// The values of runs, in an array that readers may access. The array has blocks of up to kMostRuns values for kOwners
/// owners, each with at most one block. A single value needs no block: the array begins with every possible value.
class RunValues {
 public:
  static constexpr std::size_t kMostRuns = 32, kOwners = std::size_t{1} << 19;

  /// `region` is the index of the array among the regions of its table.
  RunValues(GracePeriods& grace_periods, std::size_t region);

  const std::uint16_t* data() const { return values_.data(); }
  std::size_t bytes() const { return values_.bytes(); }
  std::size_t used_bytes() const { return lines_begun_ * kLine * sizeof(std::uint16_t); }

  /// Writes `values` (at least one) to a place that no reader accesses. Returns the index of the first. May wait for a
  /// grace period if more blocks were retired recently than there are owners.
  std::uint32_t place(std::span<const std::uint16_t> values);
  /// Overwrites the values that place() wrote at `first` with as many others.
  void write(std::uint32_t first, std::span<const std::uint16_t> values);
  /// Frees `count` values at `first` after the next grace period that starts. No new reader may access them from then
  /// on.
  void retire(std::uint32_t first, unsigned count);
  void start_grace_period();
  /// Announces all later changes to `table`, because readers may exist from then on.
  void announce_to(Table& table) { table_ = &table; }
  /// Announces the changes that are not announced yet.
  void flush() { changes_.flush(*table_); }

 private:
  static constexpr std::size_t kSingles = std::size_t{1} << 16;
  static constexpr std::size_t kLine = 32;  ///< elements of a cache line
  static constexpr unsigned kSizes = 5;     ///< blocks have 2, 4, 8, 16 or 32 elements
  /// Maximum number of blocks of a size: one per owner, one for the next block of an owner, and the rest of a line.
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
  std::array<std::size_t, kSizes> blocks_{};  ///< number of blocks made of each size
  std::array<std::vector<std::uint32_t>, kSizes> free_;
  std::vector<Retired> retiring_;  ///< since the start of the last grace period
  std::deque<Retired> retired_;    ///< in the order of their tokens
  TableChanges<std::uint16_t> changes_;
  Table* table_ = nullptr;
};

}  // namespace penumbra
