// SPDX-License-Identifier: Apache-2.0
//
// Our figure for comparison with a number of a paper.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/papers.h"
#include "report/plots.h"

namespace penumbra::report {

struct OurFigure {
  std::optional<double> value;  ///< In the paper's unit. Empty if the requested place was not measured.
  std::string what;             ///< Describes our figure.
  std::string_view open;        ///< " or more" at the last measured place, " or less" at the first, or empty.
};

/// Returns one machine's figure, or nothing if its results lack it. `place` overrides the target's own place. `plots`
/// are the plots of all measurements.
std::optional<OurFigure> our_figure(const PaperNumber& number, const std::optional<double>& place,
                                    const std::vector<Plot>& plots, std::size_t document);

}  // namespace penumbra::report
