// SPDX-License-Identifier: Apache-2.0
//
// Describes places in the configuration of a running router by their keys, because users have never seen the lines of
// its text.
#pragma once

#include <span>
#include <string>

#include "penumbra/config_node.h"
#include "penumbra/errors.h"

namespace penumbra::runtime {

/// Returns the error with the key instead of the place in the text of `root`: "ports.lan.mtu: MESSAGE". An entry of a
/// table of lines follows its key. `stages` are the names of the pipeline's stages.
InputError at_key(const InputError& error, const ConfigNode& root, std::span<const std::string> stages);

}  // namespace penumbra::runtime
