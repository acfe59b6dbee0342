// SPDX-License-Identifier: Apache-2.0
//
// How plots are called in the page: their headings, and the ids of what links lead to.
#pragma once

#include <string>
#include <vector>

#include "report/plots.h"

namespace penumbra::report {

/// The id of the section of a benchmark that belongs to no measurement.
std::string benchmark_id(const std::string& benchmark);
/// Gives each plot and table its heading and its id, which is unlike any other in the page.
void name_plots(std::vector<Plot>& plots);

}  // namespace penumbra::report
