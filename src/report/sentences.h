// SPDX-License-Identifier: Apache-2.0
//
// What a plot says, in sentences that name the figures.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/plots.h"

namespace penumbra::report {

/// Where two curves cross, between their places that are numbers: every place at which neither is ahead, by straight
/// lines between the points (of the logarithms, where all are positive).
std::vector<double> crossings(const Curve& a, const Curve& b);
/// The same of pairs of a place and how many times b a is there.
std::vector<double> crossings(const std::vector<std::pair<double, double>>& ratios);

/// Who is ahead where on one machine, where the lead changes, and how far the best of ours is from the best rival and
/// from the limit. Empty if there is nothing to compare.
std::vector<std::string> sentences(const Plot& plot, const Panel& panel);

}  // namespace penumbra::report
