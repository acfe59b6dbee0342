// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penumbra::bench {

/// Which cache lines of a table the items read, and how often they read one: a table may be large and its used part
/// not.
class Footprint {
 public:
  explicit Footprint(std::size_t table_bytes) : used_((table_bytes + kLine - 1) / kLine) {}

  /// An access `offset` bytes behind the table's start.
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
