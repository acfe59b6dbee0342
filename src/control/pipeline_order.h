// SPDX-License-Identifier: Apache-2.0
//
// Checks that packets reach every function of a pipeline.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "control/config.h"

namespace penumbra::control {

/// Checks the order of the functions. Returns warnings, each with its place, about functions that get only part of
/// their packets and about duplicate functions. Throws InputError at the place of a function that none of its packets
/// reaches.
std::vector<std::string> check_order(std::span<const StageConfig> pipeline);

}  // namespace penumbra::control
