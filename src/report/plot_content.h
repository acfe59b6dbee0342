// SPDX-License-Identifier: Apache-2.0
//
// Provides the content of a plot besides our curves.
#pragma once

#include <string>
#include <vector>

#include "report/chart.h"
#include "report/context.h"

namespace penumbra::report {

/// Returns the papers' figures for this plot: those that are compared directly with one of its curves. `papers` may be
/// null.
std::vector<PaperSeries> paper_series(const Plot& plot, const PaperMeasurement* papers);

/// Describes one machine's panel in words, for readers who cannot see it.
std::string description(const Context& context, const Plot& plot, const Panel& panel);

}  // namespace penumbra::report
