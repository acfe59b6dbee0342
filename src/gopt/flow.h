// SPDX-License-Identifier: Apache-2.0
//
// The flow graph of a function, whose points read and write variables. The graph computes the live variables at a
// point, the saved copies that still hold the value, and the next stops of an item.
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
    std::vector<unsigned> changes;  ///< Variables whose value differs, in whole or in part, after the point.
    std::vector<unsigned> kills;    ///< The subset of `changes` whose old value is no longer needed.
    std::vector<unsigned> next;
  };

  /// Adds a point without predecessors.
  unsigned add() {
    points_.emplace_back();
    return static_cast<unsigned>(points_.size()) - 1;
  }
  /// Adds a point that follows `from`.
  unsigned add_after(unsigned from) {
    const unsigned point = add();
    link(from, point);
    return point;
  }
  void link(unsigned from, unsigned to) { points_[from].next.push_back(to); }
  Point& operator[](unsigned point) { return points_[point]; }

  /// Computes the live variables. `variables` is their number.
  void solve_liveness(unsigned variables);
  bool is_live_before(unsigned point, unsigned variable) const { return live_before_[point].test(variable); }
  bool is_live_after(unsigned point, unsigned variable) const { return live_after_[point].test(variable); }

  /// Returns for each point the variables whose saved copy holds the value on every path from `start`. Copies are made
  /// at `switches`; saved[k] are the variables with a copy after switches[k].
  std::vector<llvm::BitVector> copies_that_hold(unsigned start, const std::vector<unsigned>& switches,
                                                const std::vector<llvm::BitVector>& saved, unsigned variables) const;

  /// Returns the points of `stops` that are reachable from `point` without passing another stop.
  std::set<unsigned> next_stops(unsigned point, const std::set<unsigned>& stops) const;

  /// Returns the first read of the value that a variable has after `point`.
  clang::SourceLocation next_read(unsigned point, unsigned variable) const;

 private:
  template <class Visit>
  void walk(unsigned point, const Visit& visit) const;

  std::vector<Point> points_;
  std::vector<llvm::BitVector> live_before_;
  std::vector<llvm::BitVector> live_after_;
};

}  // namespace gopt
