// SPDX-License-Identifier: Apache-2.0
//
// Finds our plots that correspond to a paper's figures.
#pragma once

#include <string>
#include <vector>

#include "report/papers.h"
#include "report/plots.h"

namespace penumbra::report {

/// Returns the plots and tables that a figure names; none if it says why there is none.
std::vector<const Plot*> plots_of_figure(const PaperFigure& figure, const std::vector<Plot>& plots);
/// Returns the figures that name a plot, and their content that the plot lacks: "GSwitch, figure 10, figure 11; G-Opt,
/// figure 8, but by threads". Returns an empty text if there are none.
std::string figures_of_plot(const Plot& plot, const std::vector<PaperMeasurement>& papers);

}  // namespace penumbra::report
