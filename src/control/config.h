// SPDX-License-Identifier: Apache-2.0
//
// Parses and checks the configuration file of `penumbra run`.
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

/// Holds one entry of a stage's `go_to:`. Packets with that outcome continue with the stage `target`.
struct GoTo {
  static constexpr std::string_view kPass = "pass";  ///< The outcome of packets on which the function does not decide.
  std::string reason;                                ///< A reason of the function for drops or punts, or kPass.
  std::string stage;                                 ///< The name of the stage in the file.
  SourceLocation location = {};
  std::uint16_t target = 0;  ///< The index of the stage.
};

/// Holds one entry of `pipeline:`. `config` is a map without `engine:` and `go_to:`, which is empty for `- NAME` and
/// `- NAME:`. If the file has something other than a map, `config` is that value, and the function refuses it.
struct StageConfig {
  std::string function;
  std::string engine;  ///< The entry's own `engine:`, else the file's.
  ConfigNode config;   ///< The function's own keys.
  SourceLocation location = {};
  // NOLINTNEXTLINE(readability-redundant-member-init): initialisers may omit the member
  std::vector<GoTo> go_to = {};
};

/// `punts:`, limits in packets per second for punts to the host. `own` has the reasons with a limit of their own, such
/// as "ipv4.ttl_expired".
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
  std::shared_ptr<const ConfigNode> root;  ///< Root node of the parsed file.
  /// The configuration file and the existing files that its values name, each with its stamp before reading.
  std::map<std::filesystem::path, FileStamp> stamps;
  std::map<std::string, std::string> sections;      ///< Canonical text of each top-level key (ConfigNode::canonical()).
  std::vector<PortConfig> ports;                    ///< `info.index` is the position.
  std::vector<unsigned> cores;                      ///< One worker runs on each core.
  std::chrono::microseconds sleep = kLongestSleep;  ///< Longest sleep of an idle worker; 0: workers never sleep.
  std::vector<StageConfig> pipeline;
  PuntLimits punts;
  ControlSockets control;
  MetricsConfig metrics;
  fpm::Config fpm;
  /// Messages with their places about settings that are legal but seldom intended.
  std::vector<std::string> warnings;
};

/// Reads and checks a configuration: keys, types, ranges, port names, device and sink forms, functions, engines and
/// cores. Functions and engines are checked by name, cores against the affinity mask of this process. Opens no ports
/// and creates no functions. Throws InputError.
///
/// Defaults: a port with a built-in source is promiscuous and has the MAC address built_in_mac() returns. An ethdev
/// keeps its own address (info.mac is 0) and is not promiscuous. The MTU is 1500 bytes. The only worker runs on the
/// lowest core of the affinity mask. The engine is `auto`.
RouterConfig load_config(const std::filesystem::path& file);
/// Like load_config(), but parses a text in memory (for tests and fuzzing).
RouterConfig parse_config(const std::string& text, const std::string& name, const std::filesystem::path& directory);

/// Returns the default MAC address of the port with a built-in source at `index`: 02:00:00:00:00:NN, where NN is the
/// position from 1.
MacAddress built_in_mac(std::uint16_t index);

/// Returns the path of write_files()'s journal for a configuration.
std::filesystem::path save_journal(const std::filesystem::path& file);
/// Completes an interrupted save: moves its files to their places. Call before load_config() in a process that runs the
/// configuration. Commands that only read the configuration leave its files alone. Throws std::runtime_error if the
/// files of the save belong to another user.
void finish_save(const std::filesystem::path& file);

/// Returns true if `name` is valid for a port: 1 to 31 letters, digits, '_', '.' or '-'.
bool is_port_name(std::string_view name);
inline constexpr std::string_view kPortNameRule = "a name of 1 to 31 letters, digits, '_', '.' or '-'";

}  // namespace penumbra::control
