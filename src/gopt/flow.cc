// SPDX-License-Identifier: Apache-2.0
#include "flow.h"

#include <algorithm>
#include <deque>

namespace gopt {

void Flow::solve_liveness(unsigned variables) {
  live_before_.assign(points_.size(), llvm::BitVector(variables));
  live_after_ = live_before_;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = points_.size(); i-- > 0;) {
      const Point& point = points_[i];
      for (const unsigned next : point.next) live_after_[i] |= live_before_[next];
      llvm::BitVector before = live_after_[i];
      for (const unsigned variable : point.kills) before.reset(variable);
      for (const Mention& read : point.reads) before.set(read.variable);
      if (before == live_before_[i]) continue;
      live_before_[i] = std::move(before);
      changed = true;
    }
  }
}

std::vector<llvm::BitVector> Flow::copies_that_hold(unsigned start, const std::vector<unsigned>& switches,
                                                    const std::vector<llvm::BitVector>& saved,
                                                    unsigned variables) const {
  std::vector<llvm::BitVector> before(points_.size(), llvm::BitVector(variables, true));
  before[start].reset();
  std::deque<unsigned> work{start};
  std::vector<bool> reached(points_.size());
  reached[start] = true;
  while (!work.empty()) {
    const unsigned i = work.front();
    work.pop_front();
    llvm::BitVector after = before[i];
    const auto found = std::find(switches.begin(), switches.end(), i);
    if (found != switches.end()) after = saved[static_cast<size_t>(found - switches.begin())];
    for (const unsigned variable : points_[i].changes) after.reset(variable);
    for (const unsigned next : points_[i].next) {
      llvm::BitVector met = before[next];
      met &= after;
      if (reached[next] && met == before[next]) continue;
      reached[next] = true;
      before[next] = std::move(met);
      work.push_back(next);
    }
  }
  return before;
}

/// Visits each point after `point` once, nearer points first. Continues after a point if `visit` returns true.
template <class Visit>
void Flow::walk(unsigned point, const Visit& visit) const {
  std::vector<bool> reached(points_.size());
  std::deque<unsigned> work(points_[point].next.begin(), points_[point].next.end());
  while (!work.empty()) {
    const unsigned i = work.front();
    work.pop_front();
    if (reached[i]) continue;
    reached[i] = true;
    if (visit(i)) work.insert(work.end(), points_[i].next.begin(), points_[i].next.end());
  }
}

std::set<unsigned> Flow::next_stops(unsigned point, const std::set<unsigned>& stops) const {
  std::set<unsigned> found;
  walk(point, [&](unsigned i) {
    const bool stop = stops.count(i) != 0;
    if (stop) found.insert(i);
    return !stop;
  });
  return found;
}

clang::SourceLocation Flow::next_read(unsigned point, unsigned variable) const {
  clang::SourceLocation found;
  walk(point, [&](unsigned i) {
    for (const Mention& read : points_[i].reads) {
      if (found.isInvalid() && read.variable == variable) found = read.where;
    }
    const std::vector<unsigned>& kills = points_[i].kills;
    return found.isInvalid() && std::find(kills.begin(), kills.end(), variable) == kills.end();
  });
  return found;
}

}  // namespace gopt
