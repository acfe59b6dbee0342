// SPDX-License-Identifier: Apache-2.0
//
// Whether what a paper concluded holds in the results of one machine.
#pragma once

#include <string>
#include <vector>

#include "report/papers.h"
#include "report/plots.h"

namespace penumbra::report {

enum class Outcome { holds, does_not_hold, cannot_be_said };

struct Verdict {
  Outcome outcome = Outcome::cannot_be_said;
  std::string sentence;  ///< with the figures that it rests on
};

/// Of a paper's conclusion. What the stated spreads leave open cannot be said. `plots` are those of all measurements.
Verdict judge(const Conclusion& conclusion, const std::vector<Plot>& plots, std::size_t document);

/// "holds", "does not hold", "cannot be said".
std::string name_of(Outcome outcome);

}  // namespace penumbra::report
