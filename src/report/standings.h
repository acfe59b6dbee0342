// SPDX-License-Identifier: Apache-2.0
//
// Which curve of a plot is ahead at a place.
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

/// By the medians.
bool is_better(const Standing& a, const Standing& b, Sense sense);
/// How many times as good `of` is as `than`, by the rounds where ratio() can take them; 0 if one of them is 0.
double times_as_good(const Standing& of, const Standing& than, Sense sense);
/// Whether it is no limit.
bool is_contender(const Curve& curve);
/// What stands there of the curves that `wanted` takes, the best first.
std::vector<Standing> ranking(const Panel& panel, const Place& place, Sense sense,
                              const std::function<bool(const Curve&)>& wanted);

/// Who is ahead at a place, and of whom.
struct Lead {
  Standing best, next;  ///< `next` comes closest to the best one
  double times = 0;     ///< as good as the next
  /// Whether nobody is ahead: what is not told apart in print, and what the medians have another way round than the
  /// rounds.
  bool is_level() const { return times < 1 + kTolerance; }
  /// Null where nobody is ahead.
  const Curve* leader() const { return is_level() ? nullptr : best.curve; }
};
/// Among the contenders; nothing unless there are two. Where nothing came back nothing was measured.
std::optional<Lead> lead_at(const Panel& panel, const Place& place, Sense sense);

}  // namespace penumbra::report
