// SPDX-License-Identifier: Apache-2.0
//
// Which curves are hidden under others that are drawn after them.
#pragma once

#include <cstddef>
#include <vector>

namespace penumbra::report {

struct Dot {
  double x = 0, y = 0;
};

/// How many others lie on a curve.
struct Covered {
  std::vector<std::size_t> dots;
  std::vector<std::size_t> stretches;  ///< each from one dot to the next
};

/// Of each curve, of those behind it in the list. Dots lie on each other if a mark hides most of the other.
std::vector<Covered> covered(const std::vector<std::vector<Dot>>& curves);

}  // namespace penumbra::report
