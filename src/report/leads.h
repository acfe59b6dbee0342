// SPDX-License-Identifier: Apache-2.0
//
// Who is ahead where.
#pragma once

#include <string>

#include "report/plots.h"

namespace penumbra::report {

/// Who of a plot's contenders is ahead where, by how much, and where the lead changes. Where it is less than half a per
/// cent nobody is: the best two are level. Empty if there is nothing to compare.
std::string who_leads(const Plot& plot, const Panel& panel);

}  // namespace penumbra::report
