// SPDX-License-Identifier: Apache-2.0
//
// Names plots in the page: their headings, and the ids of link targets.
#pragma once

#include <string>
#include <vector>

#include "report/plots.h"

namespace penumbra::report {

/// Returns the id of the section of a benchmark without a measurement.
std::string benchmark_id(const std::string& benchmark);
/// Sets the heading and a unique id of each plot and table.
void name_plots(std::vector<Plot>& plots);

}  // namespace penumbra::report
