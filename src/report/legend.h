// SPDX-License-Identifier: Apache-2.0
//
// Which curve is which: below a plot in the page, or inside a plot's own file.
#pragma once

#include <string>
#include <vector>

#include "report/chart.h"

namespace penumbra::report {

/// As HTML.
std::string legend_list(const std::vector<LegendKey>& keys);
/// As SVG from (0, 0) on, in as many lines as it takes for none to be wider than `width`.
Drawing legend_drawing(const std::vector<LegendKey>& keys, double width);

}  // namespace penumbra::report
