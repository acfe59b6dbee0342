// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

#include "penumbra/table.h"

namespace penumbra {

/// Gathers the elements of one region that an owner rewrites and announces them to the table's mirrors, near ones
/// together: a copy across a gap costs a mirror less than another copy.
template <class Element>
class TableChanges {
 public:
  explicit TableChanges(std::size_t region) : region_(region) {}

  /// Element `index` of the region has been rewritten.
  void add(Table& table, std::size_t index) {
    if (index < begin_ || index > end_ + kGap) {
      flush(table);
      begin_ = index;
    }
    end_ = std::max(end_, index + 1);
  }
  /// Announces what is still held back.
  void flush(Table& table) {
    if (begin_ < end_) table.changed(region_, begin_ * sizeof(Element), (end_ - begin_) * sizeof(Element));
    begin_ = std::numeric_limits<std::size_t>::max();
    end_ = 0;
  }

 private:
  static constexpr std::size_t kGap = 4096 / sizeof(Element);
  std::size_t region_;
  std::size_t begin_ = std::numeric_limits<std::size_t>::max();
  std::size_t end_ = 0;
};

}  // namespace penumbra
