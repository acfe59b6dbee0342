// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "control/config.h"

namespace penumbra::control {

/// Checks the parts of a configuration against each other: the order of functions, `follow:` and twins, duplicate
/// addresses. Adds warnings to `config` for settings that are legal but seldom intended. Throws InputError for settings
/// that cannot work.
void check_together(RouterConfig& config, const ConfigNode& root);

}  // namespace penumbra::control
