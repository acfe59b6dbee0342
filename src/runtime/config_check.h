// SPDX-License-Identifier: Apache-2.0
//
// What a router refuses of a configuration before it opens a device, for `penumbra check` as for the router itself.
#pragma once

#include <string>
#include <vector>

#include "control/config.h"

namespace penumbra::runtime {

/// Throws InputError, at the key's place, if a control socket that the configuration names cannot be made. Whether a
/// router listens there is not looked at.
void check_sockets(const control::ControlSockets& sockets);

/// Checks all of a configuration that can be checked without opening a device, listening or writing: files, functions,
/// the control sockets' folders, addresses to listen at. Throws InputError. Returns warnings, each with its place.
std::vector<std::string> check_config(const control::RouterConfig& config);

}  // namespace penumbra::runtime
