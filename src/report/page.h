// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report/context.h"

namespace penumbra::report {

/// One page with everything in it, HTML and XML at once, that loads nothing from anywhere and needs no scripts. Of at
/// least one document.
std::string page(const Context& context);

}  // namespace penumbra::report
