// SPDX-License-Identifier: Apache-2.0
//
// The configuration file of `penumbra run`, checked.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "control/fpm/config.h"
#include "control/metrics_config.h"
#include "control/port_config.h"
#include "penumbra/config_node.h"

namespace penumbra::control {

/// One entry of `pipeline:`. `config` is a map without `engine:`, also where the file has only the function's name
/// (`- NAME`) or no value (`- NAME:`); where it has something other than a map, that, for the function to refuse.
struct StageConfig {
  std::string function;
  std::string engine;  ///< the entry's own `engine:`, else the file's
  ConfigNode config;   ///< the function's own keys
};

/// `punts:`, how many packets a second the host is given for each reason, and those reasons that have a number of their
/// own ("ipv4.ttl_expired").
struct PuntLimits {
  struct Own {
    std::string reason;
    double packets_per_second;
    SourceLocation location;
  };
  double each = 10'000;
  std::vector<Own> own;

  double limit_of(std::string_view reason) const;
};

struct RouterConfig {
  static constexpr std::chrono::microseconds kLongestSleep{1000};
  std::filesystem::path file;
  std::map<std::string, std::string> sections;      ///< by top-level key what it says, as ConfigNode::canonical()
  std::vector<PortConfig> ports;                    ///< info.index = position
  std::vector<unsigned> cores;                      ///< a worker each
  std::chrono::microseconds sleep = kLongestSleep;  ///< no idle worker sleeps longer; 0: it never sleeps
  std::vector<StageConfig> pipeline;
  PuntLimits punts;
  std::filesystem::path socket;  ///< of `penumbra show`; `control: {socket: PATH}`
  MetricsConfig metrics;
  fpm::Config fpm;
};

/// Reads and checks a configuration: keys, types, ranges, port names, device and sink forms, functions and engines by
/// name, cores against those that this process may run on. Does not open ports nor create functions. Throws InputError.
///
/// Of what may be left out: a port with a built-in source takes the MAC address 02:00:00:00:00:NN (NN its position from
/// 1) and is promiscuous, an ethdev keeps its own address (info.mac is 0) and is not; the MTU is 1500; the only worker
/// runs on the first core that it may; the engine is `auto`.
RouterConfig load_config(const std::filesystem::path& file);
/// The same for a text in memory (tests, fuzzing).
RouterConfig parse_config(const std::string& text, const std::string& name, const std::filesystem::path& directory);

/// Whether a port may be called so: 1 to 31 letters, digits, '_', '.' or '-'.
bool is_port_name(std::string_view name);
inline constexpr std::string_view kPortNameRule = "a name of 1 to 31 letters, digits, '_', '.' or '-'";

/// Where `penumbra show` looks if nothing is said: $RUNTIME_DIRECTORY/penumbra.sock in a service of systemd, else
/// /run/penumbra/penumbra.sock for root, else
/// $XDG_RUNTIME_DIR/penumbra.sock, else /tmp/penumbra-UID/penumbra.sock.
std::filesystem::path default_socket();
/// The same in words, for help and errors.
inline constexpr std::string_view kDefaultSocketInWords =
    "/run/penumbra/penumbra.sock for root, else $XDG_RUNTIME_DIR/penumbra.sock, else /tmp/penumbra-UID/penumbra.sock";

}  // namespace penumbra::control
