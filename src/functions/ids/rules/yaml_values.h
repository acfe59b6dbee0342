// SPDX-License-Identifier: Apache-2.0
//
// Values of suricata.yaml.
#pragma once

#include <cstdint>
#include <string>

#include "penumbra/config_node.h"

namespace penumbra::ids {

/// Returns true if the node is there and is not null.
bool is_set(const ConfigNode& node);
/// Reads "true", "yes" and their contraries. Throws InputError.
bool flag_of(const ConfigNode& map, const char* key, bool otherwise = false);
/// Reads a number of bytes with kb, mb or gb. Throws InputError.
std::uint64_t bytes_of(const ConfigNode& node);
/// Returns a single value or a list as the text of a rule's header.
std::string header_text_of(const ConfigNode& node);

}  // namespace penumbra::ids
