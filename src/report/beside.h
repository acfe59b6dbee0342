// SPDX-License-Identifier: Apache-2.0
//
// What of ours stands beside a number of a paper.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/papers.h"
#include "report/plots.h"

namespace penumbra::report {

struct Beside {
  std::optional<double> value;  ///< in the paper's unit; none if the place that is asked for is not there
  std::string what;             ///< of ours it is
  std::string_view open;  ///< " or more" at a place past which nothing was measured, " or less" at the first; or empty
};

/// One machine's; none if its results lack it. `place` goes before the target's own. `plots` are those of all
/// measurements.
std::optional<Beside> beside(const PaperNumber& number, const std::optional<double>& place,
                             const std::vector<Plot>& plots, std::size_t document);

}  // namespace penumbra::report
