// SPDX-License-Identifier: Apache-2.0
//
// Judges a paper's conclusions by the results of one machine.
#pragma once

#include <string>
#include <vector>

#include "report/papers.h"
#include "report/plots.h"

namespace penumbra::report {

enum class Outcome { holds, does_not_hold, cannot_be_said };

struct Verdict {
  Outcome outcome = Outcome::cannot_be_said;
  std::string sentence;  ///< Includes the figures of the verdict.
};

/// Returns the verdict on a conclusion; it is open if the stated spreads do not decide. `plots` are the plots of all
/// measurements.
Verdict judge(const Conclusion& conclusion, const std::vector<Plot>& plots, std::size_t document);

/// Returns "holds", "does not hold", "cannot be said".
std::string name_of(Outcome outcome);

}  // namespace penumbra::report
