// SPDX-License-Identifier: Apache-2.0
//
// Draws the legend below a plot in the page, or inside a plot's own file.
#pragma once

#include <string>
#include <vector>

#include "report/chart.h"

namespace penumbra::report {

/// Returns the legend as HTML.
std::string legend_list(const std::vector<LegendKey>& keys);
/// Returns the legend as SVG from (0, 0) on, with as many lines as needed to stay within `width`.
Drawing legend_drawing(const std::vector<LegendKey>& keys, double width);

}  // namespace penumbra::report
