// SPDX-License-Identifier: Apache-2.0
#include "report/covered.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace penumbra::report {
namespace {

constexpr double kSamePlace = 0.5, kHides = 3;

/// Returns the index of the curve's dot that covers `dot`.
std::optional<std::size_t> dot_on(const Dot& dot, const std::vector<Dot>& curve) {
  const auto found = std::ranges::find_if(curve, [&dot](const Dot& other) {
    return std::abs(other.x - dot.x) < kSamePlace && std::abs(other.y - dot.y) < kHides;
  });
  if (found == curve.end()) return std::nullopt;
  return static_cast<std::size_t>(found - curve.begin());
}

void add(const std::vector<Dot>& curve, const std::vector<Dot>& later, Covered& counts) {
  std::optional<std::size_t> before;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const auto on = dot_on(curve[i], later);
    if (on) ++counts.dots[i];
    if (on && before && *on == *before + 1) ++counts.stretches[i - 1];
    before = on;
  }
}

}  // namespace

std::vector<Covered> covered(const std::vector<std::vector<Dot>>& curves) {
  std::vector<Covered> all;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const std::size_t dots = curves[i].size();
    Covered& counts =
        all.emplace_back(Covered{std::vector<std::size_t>(dots), std::vector<std::size_t>(dots > 0 ? dots - 1 : 0)});
    for (std::size_t later = i + 1; later < curves.size(); ++later) add(curves[i], curves[later], counts);
  }
  return all;
}

}  // namespace penumbra::report
