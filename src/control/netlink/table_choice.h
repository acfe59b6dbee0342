// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace penumbra::control::netlink {

/// Which of the kernel's routing tables is followed: a number, or the VRF of that name, whatever its table is.
using TableChoice = std::variant<std::uint32_t, std::string>;

/// `main`, `default`, a number, a name that iproute2's files give one, or `vrf NAME`. Throws std::invalid_argument.
TableChoice parse_table(const std::string& text);
/// The same with other files.
TableChoice parse_table(const std::string& text, const std::vector<std::filesystem::path>& files);

}  // namespace penumbra::control::netlink
