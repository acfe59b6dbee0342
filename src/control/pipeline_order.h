// SPDX-License-Identifier: Apache-2.0
//
// Whether packets reach every function of a pipeline.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "control/config.h"

namespace penumbra::control {

/// Throws InputError, at the function's place, for one that no packet of its own reaches. Returns warnings, each with
/// its place, about functions that get only a part of the packets and about functions that stand there twice.
std::vector<std::string> check_order(std::span<const StageConfig> pipeline);

}  // namespace penumbra::control
