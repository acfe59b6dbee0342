// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report/context.h"

namespace penumbra::report {

/// Returns one page with everything, valid as HTML and XML. The page loads nothing and needs no scripts. The context
/// must have at least one document.
std::string page(const Context& context);

}  // namespace penumbra::report
