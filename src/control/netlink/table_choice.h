// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace penumbra::control::netlink {

/// Identifies the followed routing table of the kernel by its number, or by the name of a VRF, whose table may change.
using TableChoice = std::variant<std::uint32_t, std::string>;

/// Parses `main`, `default`, a number, a name in iproute2's files, or `vrf NAME`. Throws std::invalid_argument.
TableChoice parse_table(const std::string& text);
/// Like parse_table() above, but with other files of names.
TableChoice parse_table(const std::string& text, const std::vector<std::filesystem::path>& files);

}  // namespace penumbra::control::netlink
