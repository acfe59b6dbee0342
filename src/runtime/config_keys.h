// SPDX-License-Identifier: Apache-2.0
//
// Places in the configuration of a running router, named by their keys: its text has lines that its user never saw.
#pragma once

#include <span>
#include <string>

#include "penumbra/config_node.h"
#include "penumbra/errors.h"

namespace penumbra::runtime {

/// Returns the error without its place, which is in the text of `root`, and with the key in front:
/// "ports.lan.mtu: MESSAGE". An entry of a table of lines follows its key. `stages` are the names of the pipeline's
/// stages.
InputError at_key(const InputError& error, const ConfigNode& root, std::span<const std::string> stages);

}  // namespace penumbra::runtime
