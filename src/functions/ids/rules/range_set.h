// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace penumbra::ids {

/// A set of unsigned integers as sorted ranges with gaps between them. `most` is the greatest value of the type's use.
template <class Value>
class RangeSet {
 public:
  struct Range {
    Value low, high;  ///< Both included.
    bool operator==(const Range&) const = default;
  };

  static constexpr Value kMost = static_cast<Value>(~Value{0});

  RangeSet() = default;
  static RangeSet all() { return of(0, kMost); }
  static RangeSet of(Value low, Value high) {
    RangeSet set;
    set.ranges_.push_back({low, high});
    return set;
  }

  bool empty() const { return ranges_.empty(); }
  bool is_all() const { return ranges_.size() == 1 && ranges_[0].low == 0 && ranges_[0].high == kMost; }
  const std::vector<Range>& ranges() const { return ranges_; }
  bool operator==(const RangeSet&) const = default;

  bool contains(Value value) const {
    const auto after = std::ranges::upper_bound(ranges_, value, {}, &Range::low);
    return after != ranges_.begin() && value <= std::prev(after)->high;
  }

  RangeSet complement() const {
    RangeSet result;
    Value next = 0;
    for (const Range& range : ranges_) {
      if (range.low > next) result.ranges_.push_back({next, static_cast<Value>(range.low - 1)});
      if (range.high == kMost) return result;
      next = static_cast<Value>(range.high + 1);
    }
    result.ranges_.push_back({next, kMost});
    return result;
  }

  RangeSet operator|(const RangeSet& other) const {
    std::vector<Range> sorted = ranges_;
    sorted.insert(sorted.end(), other.ranges_.begin(), other.ranges_.end());
    std::ranges::sort(sorted, {}, &Range::low);
    RangeSet result;
    for (const Range& range : sorted) {
      // A high end of kMost has no successor; every later range lies within it.
      if (!result.ranges_.empty()) {
        Range& last = result.ranges_.back();
        if (last.high == kMost || range.low <= static_cast<Value>(last.high + 1)) {
          last.high = std::max(last.high, range.high);
          continue;
        }
      }
      result.ranges_.push_back(range);
    }
    return result;
  }

  RangeSet operator-(const RangeSet& other) const { return (complement() | other).complement(); }

 private:
  std::vector<Range> ranges_;
};

}  // namespace penumbra::ids
