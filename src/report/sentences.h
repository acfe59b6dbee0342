// SPDX-License-Identifier: Apache-2.0
//
// What a plot says, in sentences that name the figures.
#pragma once

#include <string>
#include <vector>

#include "report/plots.h"

namespace penumbra::report {

/// Who is ahead where on one machine, where the lead changes, and how far the best of ours is from the best rival and
/// from the limit; of a plot that is no race the least and the most of each. Empty if there is nothing to compare.
std::vector<std::string> sentences(const Plot& plot, const Panel& panel);

}  // namespace penumbra::report
