// SPDX-License-Identifier: Apache-2.0
//
// Describes the leaders of a plot.
#pragma once

#include <string>

#include "report/plots.h"

namespace penumbra::report {

/// Returns the leading contenders by place, their margins, and the places where the lead changes. Nobody leads with a
/// margin under half a per cent: the best two are level. Returns an empty text if there is nothing to compare.
std::string who_leads(const Plot& plot, const Panel& panel);

}  // namespace penumbra::report
