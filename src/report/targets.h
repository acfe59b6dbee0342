// SPDX-License-Identifier: Apache-2.0
//
// Finds the figures in our results that correspond to a paper's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/papers.h"
#include "report/plots.h"

namespace penumbra::report {

/// A figure of ours: a curve's value at a place, or its ratio to another.
struct Finding {
  const Plot* plot = nullptr;
  Place place;
  std::string of, to;  ///< The curves; `to` is empty without a division.
  Spread value;        ///< The measured value or the ratio, with the stated spread.
  Spread ahead;        ///< Advantage of `of` over `to`, as a factor; 0 without a division.
  std::string than;    ///< The second divisor of the ratio, "the same at 16"; usually empty.
};

/// Returns the machine's values for the target: one for each selected place of every matching plot. `at`, if given,
/// overrides the target's own places. A place with a rate of 0, where no batch came back, counts as not measured.
std::vector<Finding> find(const Target& target, const std::vector<Plot>& plots, std::size_t document,
                          const std::optional<PlaceChoice>& at = std::nullopt);

/// Divides each ratio by the ratio of the same plot in `others`, which has the same target at another place. With
/// `of_each` it uses the ratio of the same curve. The two were not measured by turns, so the result's range is as wide
/// as both spreads allow.
std::vector<Finding> over_the_same(const std::vector<Finding>& findings, const std::vector<Finding>& others,
                                   bool of_each);

/// Returns the places where `of` and `to` cross.
std::vector<double> crossings_of(const std::vector<Finding>& findings);

/// Returns "cuckoo by size of the table at 1 GiB: gopt / plain loop 4.09".
std::string text_of(const Finding& finding);
/// Returns text_of() without the title.
std::string short_text_of(const Finding& finding);

}  // namespace penumbra::report
