// SPDX-License-Identifier: Apache-2.0
//
// Which plots of ours have what a figure of a paper has.
#pragma once

#include <string>
#include <vector>

#include "report/papers.h"
#include "report/plots.h"

namespace penumbra::report {

/// The plots and tables that a figure names; none if it says why there is none.
std::vector<const Plot*> plots_of_figure(const PaperFigure& figure, const std::vector<Plot>& plots);
/// The figures that name a plot, and what of them it does not have, as "GSwitch, figure 10, figure 11; G-Opt, figure 8,
/// but by threads"; empty if there are none.
std::string figures_of_plot(const Plot& plot, const std::vector<PaperMeasurement>& papers);

}  // namespace penumbra::report
