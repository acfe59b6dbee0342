// SPDX-License-Identifier: Apache-2.0
//
// Finds curves that are covered by curves drawn later.
#pragma once

#include <cstddef>
#include <vector>

namespace penumbra::report {

struct Dot {
  double x = 0, y = 0;
};

/// The number of other curves that cover a curve.
struct Covered {
  std::vector<std::size_t> dots;
  std::vector<std::size_t> stretches;  ///< For each line from one dot to the next.
};

/// Returns for each curve the coverage by later curves in the list. A dot covers another if its mark hides most of the
/// other mark.
std::vector<Covered> covered(const std::vector<std::vector<Dot>>& curves);

}  // namespace penumbra::report
