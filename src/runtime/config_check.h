// SPDX-License-Identifier: Apache-2.0
//
// Checks of a configuration before devices are opened, for `penumbra check` and for the router itself.
#pragma once

#include <string>
#include <vector>

#include "control/config.h"

namespace penumbra::runtime {

/// Checks that the configured control sockets can be created. Does not check for a router that already listens there.
/// Throws InputError at the key's place.
void check_sockets(const control::ControlSockets& sockets);

/// Checks all that can be checked without opening a device, listening or writing: files, functions, folders of control
/// sockets, listen addresses. Returns warnings, each with its place. Throws InputError.
std::vector<std::string> check_config(const control::RouterConfig& config);

}  // namespace penumbra::runtime
