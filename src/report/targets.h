// SPDX-License-Identifier: Apache-2.0
//
// Where in our results the figure is that belongs to a paper's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/papers.h"
#include "report/plots.h"

namespace penumbra::report {

/// A figure of ours: of a curve at a place, or divided by another's.
struct Finding {
  const Plot* plot = nullptr;
  Place place;
  std::string of, to;  ///< the curves; `to` is empty if nothing was divided
  Spread value;        ///< as measured, or the ratio; with the stated spread
  Spread ahead;        ///< how many times as good `of` is as `to`; 0 if nothing was divided
  std::string than;    ///< what the ratio was divided by once more, "the same at 16"; mostly empty
};

/// What that machine's results have of the target: of every plot that matches one finding at each place that is meant.
/// `at`, if given, goes before the target's own choice of places. A place with a rate of 0, in which not one batch came
/// back, counts as not measured.
std::vector<Finding> find(const Target& target, const std::vector<Plot>& plots, std::size_t document,
                          const std::optional<PlaceChoice>& at = std::nullopt);

/// Each of these ratios divided by that of the same plot among `others`, of the same target at another place; by that
/// of the same curve if there is one `of_each`. They were not taken by turns: the spread is as far as the two's allow.
std::vector<Finding> over_the_same(const std::vector<Finding>& findings, const std::vector<Finding>& others,
                                   bool of_each);

/// The places at which `of` and `to` of these findings cross.
std::vector<double> crossings_of(const std::vector<Finding>& findings);

/// "cuckoo by size of the table at 1 GiB: gopt / plain loop 4.09".
std::string text_of(const Finding& finding);
/// The same without the title.
std::string short_text_of(const Finding& finding);

}  // namespace penumbra::report
