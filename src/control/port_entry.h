// SPDX-License-Identifier: Apache-2.0
//
// Ports as commands name them: `lan device net_af_packet0,iface=eth1 addresses 10.1.0.1/24,2001:db8::1/64 mtu 1500`.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "penumbra/config_node.h"
#include "penumbra/errors.h"

namespace penumbra::control {

/// One line: the name, then keys of `ports` with a value each.
struct PortEntry {
  std::string name;
  YAML::Node port;       ///< map, an element of `ports`
  SourceLocation place;  ///< of the name
};

/// Reads ports, one a line, and checks each as the configuration's reader does. `name` is what errors call the text;
/// files that an entry names count from `directory`. Throws InputError at the wrong word.
std::vector<PortEntry> read_port_entries(std::string_view text, const std::string& name,
                                         const std::filesystem::path& directory);

/// Reads names of ports, one a line. Throws InputError at a further word.
std::vector<PortEntry> read_port_names(std::string_view text, const std::string& name);

/// A port as read_port_entries() takes it.
std::string port_line(const YAML::Node& port);

}  // namespace penumbra::control
