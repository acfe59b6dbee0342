// SPDX-License-Identifier: Apache-2.0
//
// Finds the leading curve of a plot at a place.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "report/plots.h"

namespace penumbra::report {

/// A curve's point at the place in question.
struct Standing {
  const Curve* curve = nullptr;
  const Point* point = nullptr;
};

/// Compares the medians.
bool is_better(const Standing& a, const Standing& b, Sense sense);
/// Returns how many times `of` is as good as `than`, by rounds if ratio() can use them, or 0 if one of them is 0.
double times_as_good(const Standing& of, const Standing& than, Sense sense);
/// Returns true if the curve is not a limit.
bool is_contender(const Curve& curve);
/// Returns the points at the place of the curves that `wanted` accepts, the best first.
std::vector<Standing> ranking(const Panel& panel, const Place& place, Sense sense,
                              const std::function<bool(const Curve&)>& wanted);

/// The leader at a place and the next best.
struct Lead {
  Standing best, next;  ///< `next` is closest to `best`.
  double times = 0;     ///< Ratio of the best to the next.
  /// Returns true if nobody leads: the difference is invisible in print, or the medians and the rounds disagree about
  /// the leader.
  bool is_level() const { return times < 1 + kTolerance; }
  /// Returns the leading curve, or null if nobody leads.
  const Curve* leader() const { return is_level() ? nullptr : best.curve; }
};
/// Returns the lead among the contenders, or nothing if there are fewer than two. A value of 0 counts as not measured.
std::optional<Lead> lead_at(const Panel& panel, const Place& place, Sense sense);

}  // namespace penumbra::report
