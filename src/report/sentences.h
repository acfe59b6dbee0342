// SPDX-License-Identifier: Apache-2.0
//
// Describes a plot in sentences with figures.
#pragma once

#include <string>
#include <vector>

#include "report/plots.h"

namespace penumbra::report {

/// Returns sentences about the leaders on one machine, the changes of the lead, and the distance to the best rival and
/// the limit. For a plot that is no race, they give the least and the most of each curve. Returns nothing if there is
/// nothing to compare.
std::vector<std::string> sentences(const Plot& plot, const Panel& panel);

}  // namespace penumbra::report
