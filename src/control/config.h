// SPDX-License-Identifier: Apache-2.0
//
// The configuration file of `penumbra run`, checked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "io/port.h"
#include "penumbra/config_node.h"

namespace penumbra::control {

/// One entry of `pipeline:`. The function's own keys stay in `config` for its factory.
struct StageConfig {
  std::string function;
  std::string engine;  ///< the entry's own `engine:`, else the file's
  ConfigNode config;
};

struct RouterConfig {
  std::filesystem::path file;
  std::vector<io::PortConfig> ports;  ///< info.index = position; default MAC 02:00:00:00:00:NN where none is given
  std::vector<unsigned> cores;        ///< a worker each
  std::vector<StageConfig> pipeline;
  std::filesystem::path socket;  ///< of `penumbra show`; `control: {socket: PATH}`
};

/// Reads and checks a configuration: keys, types, ranges, port names, device and sink forms, functions and engines by
/// name. Does not open ports nor create functions. Throws InputError.
RouterConfig load_config(const std::filesystem::path& file);
/// The same for a text in memory (tests, fuzzing).
RouterConfig parse_config(const std::string& text, const std::string& name, const std::filesystem::path& directory);

/// Where `penumbra show` looks if nothing is said: /run/penumbra/penumbra.sock for root, else
/// $XDG_RUNTIME_DIR/penumbra.sock, else /tmp/penumbra-UID/penumbra.sock.
std::filesystem::path default_socket();

}  // namespace penumbra::control
