// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "control/config.h"

namespace penumbra::control {

/// Checks what the parts of a configuration say about each other: the order of functions, what is followed by which
/// twins, addresses that are the same. Throws InputError for what can never be right, and adds warnings about what can
/// be but seldom is.
void check_together(RouterConfig& config, const ConfigNode& root);

}  // namespace penumbra::control
