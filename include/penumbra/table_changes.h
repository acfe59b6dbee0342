// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

#include "penumbra/table.h"

namespace penumbra {

/// Collects the elements of one region that an owner rewrites, and announces near elements together to the table's
/// mirrors. Copying a small gap costs a mirror less than a second copy.
template <class Element>
class TableChanges {
 public:
  explicit TableChanges(std::size_t region) : region_(region) {}

  /// Adds element `index` of the region, which the owner has rewritten.
  void add(Table& table, std::size_t index) {
    if (index < begin_ || index > end_ + kGap) {
      flush(table);
      begin_ = index;
    }
    end_ = std::max(end_, index + 1);
  }
  /// Announces the collected elements.
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
