// SPDX-License-Identifier: Apache-2.0
//
// A function as a graph of points that read and write variables, and the questions asked of it: which variables are
// live at a point, of which does the saved copy still hold the value, and where does an item stop next.
#pragma once

#include <set>
#include <vector>

#include "clang/Basic/SourceLocation.h"
#include "llvm/ADT/BitVector.h"

namespace gopt {

class Flow {
 public:
  struct Mention {
    unsigned variable = 0;
    clang::SourceLocation where;
  };
  struct Point {
    std::vector<Mention> reads;
    std::vector<unsigned> changes;  ///< variables that have another value, in whole or in part, afterwards
    std::vector<unsigned> kills;    ///< of these, those whose old value is of no use any more
    std::vector<unsigned> next;
  };

  /// A point that nothing leads to yet.
  unsigned add() {
    points_.emplace_back();
    return static_cast<unsigned>(points_.size()) - 1;
  }
  /// A point that follows `from`.
  unsigned add_after(unsigned from) {
    const unsigned point = add();
    link(from, point);
    return point;
  }
  void link(unsigned from, unsigned to) { points_[from].next.push_back(to); }
  Point& operator[](unsigned point) { return points_[point]; }

  /// Finds what is live; `variables` is how many there are.
  void solve_liveness(unsigned variables);
  bool is_live_before(unsigned point, unsigned variable) const { return live_before_[point].test(variable); }
  bool is_live_after(unsigned point, unsigned variable) const { return live_after_[point].test(variable); }

  /// Per point, the variables of which a copy made at one of the `switches` holds the value on every path from `start`.
  /// saved[k] are those that have a copy once switches[k] is passed.
  std::vector<llvm::BitVector> copies_that_hold(unsigned start, const std::vector<unsigned>& switches,
                                                const std::vector<llvm::BitVector>& saved, unsigned variables) const;

  /// Those of `stops` that are reached from behind `point` without passing another.
  std::set<unsigned> next_stops(unsigned point, const std::set<unsigned>& stops) const;

  /// Where the value that a variable has after `point` is read first.
  clang::SourceLocation next_read(unsigned point, unsigned variable) const;

 private:
  template <class Visit>
  void walk(unsigned point, const Visit& visit) const;

  std::vector<Point> points_;
  std::vector<llvm::BitVector> live_before_;
  std::vector<llvm::BitVector> live_after_;
};

}  // namespace gopt
