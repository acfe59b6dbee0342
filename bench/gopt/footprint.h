// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penumbra::bench {

/// Counts the cache lines of a table that items read, and the reads. The used part of a large table may be small.
class Footprint {
 public:
  explicit Footprint(std::size_t table_bytes) : used_((table_bytes + kLine - 1) / kLine) {}

  /// Adds an access at `offset` bytes from the table's start.
  void add(std::size_t offset) {
    ++accesses_;
    if (used_[offset / kLine]) return;
    used_[offset / kLine] = true;
    ++lines_;
  }
  std::uint64_t accesses() const { return accesses_; }
  std::size_t mebibytes() const { return lines_ * kLine >> 20; }

 private:
  static constexpr std::size_t kLine = 64;

  std::vector<bool> used_;
  std::uint64_t accesses_ = 0;
  std::size_t lines_ = 0;
};

}  // namespace penumbra::bench
