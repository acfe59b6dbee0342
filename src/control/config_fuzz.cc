// SPDX-License-Identifier: Apache-2.0
//
// Any text is either read as a configuration or refused. A configuration that is read keeps the promises of config.h.
// Its ports and stages survive printing and reading back. A device cannot be printed, so every device is printed as
// `none`.
#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>

#include "control/config.h"
#include "control/stage_graph.h"
#include "penumbra/function.h"
#include "testing/fuzzing.h"

namespace {

using penumbra::control::parse_config;
using penumbra::control::RouterConfig;
using penumbra::fuzzing::require;

/// Prints the configuration as YAML in flow style.
std::string written(const RouterConfig& config) {
  std::ostringstream out;
  out << "ports:\n";
  for (const auto& port : config.ports) {
    out << "- {name: \"" << port.info.name << "\", device: none, mtu: " << port.info.mtu
        << ", promiscuous: " << (port.info.promiscuous ? "true" : "false");
    if (port.info.mac.value != 0) out << ", mac: \"" << to_string(port.info.mac) << '"';
    if (port.queues != 0) out << ", queues: " << port.queues;
    out << ", addresses: [";
    for (const auto& address : port.info.addresses) {
      out << '"' << to_string(address.address) << '/' << unsigned{address.network.length} << "\", ";
    }
    out << "]}\n";
  }
  out << "workers: {cores: [";
  for (const unsigned core : config.cores) out << core << ", ";
  out << "]}\npipeline:\n";
  const auto names = penumbra::control::stage_names(config.pipeline);
  for (const auto& stage : config.pipeline) {
    YAML::Emitter go_to;  // A reason may be any text.
    go_to << YAML::Flow << YAML::BeginMap;
    for (const auto& each : stage.go_to) {
      go_to << YAML::DoubleQuoted << each.reason << YAML::Value << names[each.target];
    }
    go_to << YAML::EndMap;
    out << "- {" << stage.function << ": {engine: \"" << stage.engine << "\", go_to: " << go_to.c_str() << "}}\n";
  }
  return out.str();
}

void check(const RouterConfig& config) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < config.ports.size(); ++i) {
    const auto& port = config.ports[i];
    require(port.info.index == i && names.insert(port.info.name).second);
    for (const auto& address : port.info.addresses) {
      require(address.network.contains(address.address));
      require((address.network.address.value & ~address.network.mask()) == 0);
    }
  }
  require(!config.ports.empty() && !config.cores.empty() && !config.pipeline.empty() && !config.control.socket.empty());
  for (const auto& stage : config.pipeline) {
    require(penumbra::find_function(stage.function) != nullptr && !stage.engine.empty());
    if (stage.config.is_map()) require(!stage.config.get("engine").present() && !stage.config.get("go_to").present());
    for (const auto& go_to : stage.go_to) require(go_to.target < config.pipeline.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::string first;
  try {
    const RouterConfig config = parse_config(text, "fuzz", "/etc");
    check(config);
    first = written(config);
  } catch (const penumbra::InputError& error) {
    require(error.location().file == "fuzz");
    return 0;
  }
  // An ethdev without a MAC address gets the one of a built-in source in the first round. From the second text on,
  // printing and reading must change nothing.
  const std::string second = written(parse_config(first, "written", "/etc"));
  require(written(parse_config(second, "written", "/etc")) == second);
  return 0;
}
