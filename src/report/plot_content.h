// SPDX-License-Identifier: Apache-2.0
//
// What goes into a plot besides our curves.
#pragma once

#include <string>
#include <vector>

#include "report/chart.h"
#include "report/context.h"

namespace penumbra::report {

/// The papers' figures that are of this plot: such as are held against one of its curves as it is. `papers` may be
/// null.
std::vector<PaperSeries> paper_series(const Plot& plot, const PaperMeasurement* papers);

/// One machine's part in words, for who cannot see it.
std::string description(const Context& context, const Plot& plot, const Panel& panel);

}  // namespace penumbra::report
