// SPDX-License-Identifier: Apache-2.0
//
// The configuration file of `penumbra run`, checked.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_set.h"
#include "control/control_socket.h"
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
  SourceLocation location = {};
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
  std::shared_ptr<const ConfigNode> root;             ///< what all of it was read from
  std::map<std::filesystem::path, FileStamp> stamps;  ///< of the files that it was read from and that it may name
  std::map<std::string, std::string> sections;        ///< by top-level key what it says, as ConfigNode::canonical()
  std::vector<PortConfig> ports;                      ///< info.index = position
  std::vector<unsigned> cores;                        ///< a worker each
  std::chrono::microseconds sleep = kLongestSleep;    ///< no idle worker sleeps longer; 0: it never sleeps
  std::vector<StageConfig> pipeline;
  PuntLimits punts;
  ControlSockets control;
  MetricsConfig metrics;
  fpm::Config fpm;
  std::vector<std::string> warnings;  ///< of what can be right but seldom is, each with its place
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

/// The MAC address of a port with a built-in source, by its index, if nothing else is said.
MacAddress built_in_mac(std::uint16_t index);

/// Returns the path of write_files()'s journal for a configuration.
std::filesystem::path save_journal(const std::filesystem::path& file);
/// Puts the files of a save that was cut off in their places. Call before load_config() in whatever runs the
/// configuration; commands that only look at it leave its files alone. Throws std::runtime_error if another user saved.
void finish_save(const std::filesystem::path& file);

/// Whether a port may be called so: 1 to 31 letters, digits, '_', '.' or '-'.
bool is_port_name(std::string_view name);
inline constexpr std::string_view kPortNameRule = "a name of 1 to 31 letters, digits, '_', '.' or '-'";

}  // namespace penumbra::control
