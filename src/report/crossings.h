// SPDX-License-Identifier: Apache-2.0
//
// Where of two curves now one and now the other is ahead.
#pragma once

#include <utility>
#include <vector>

#include "report/plots.h"

namespace penumbra::report {

/// Where two curves cross, between their places that are numbers: every place at which neither is ahead, by straight
/// lines between the points (of the logarithms, where all are positive).
std::vector<double> crossings(const Curve& a, const Curve& b);
/// The same of pairs of a place and how many times b a is there.
std::vector<double> crossings(const std::vector<std::pair<double, double>>& ratios);

}  // namespace penumbra::report
