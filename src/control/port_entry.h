// SPDX-License-Identifier: Apache-2.0
//
// Parses ports in the syntax of commands: `lan device net_af_packet0,iface=eth1 addresses 10.1.0.1/24,2001:db8::1/64
// mtu 1500`.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "penumbra/config_node.h"
#include "penumbra/errors.h"

namespace penumbra::control {

/// Holds one line: the name, then keys of `ports`, each with a value.
struct PortEntry {
  std::string name;
  YAML::Node port;       ///< A map, the element of `ports`.
  SourceLocation place;  ///< Place of the name.
};

/// Reads ports, one a line, with the checks of the configuration's reader. `name` is the name of the text in errors.
/// Relative files in an entry start from `directory`. Throws InputError at the wrong word.
std::vector<PortEntry> read_port_entries(std::string_view text, const std::string& name,
                                         const std::filesystem::path& directory);

/// Reads names of ports, one a line. Throws InputError at a second word in a line.
std::vector<PortEntry> read_port_names(std::string_view text, const std::string& name);

/// Returns a port in the syntax of read_port_entries().
std::string port_line(const YAML::Node& port);

}  // namespace penumbra::control
