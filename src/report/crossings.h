// SPDX-License-Identifier: Apache-2.0
//
// Finds the places where the lead of two curves changes.
#pragma once

#include <utility>
#include <vector>

#include "report/plots.h"

namespace penumbra::report {

/// Returns the numeric places where two curves cross. Lines between the points are straight, or straight in the
/// logarithms if all values are positive.
std::vector<double> crossings(const Curve& a, const Curve& b);
/// Returns the crossings for pairs of a place and the ratio of a to b.
std::vector<double> crossings(const std::vector<std::pair<double, double>>& ratios);

}  // namespace penumbra::report
