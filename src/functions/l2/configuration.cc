// SPDX-License-Identifier: Apache-2.0
#include "functions/l2/configuration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "control/config_lines.h"
#include "control/routes.h"
#include "functions/l2/commands.h"
#include "penumbra/errors.h"

namespace penumbra::l2 {
namespace {

constexpr std::array<const char*, kStorms> kStormNames{"broadcast", "multicast", "unknown_unicast"};
constexpr std::uint64_t kMostPacketsPerSecond = 1'000'000'000;
constexpr std::uint64_t kMostAgeing = 1'000'000;  // IEEE 802.1Q, table 8-3

std::uint16_t read_vlan(const ConfigNode& node) {
  return static_cast<std::uint16_t>(node.integer(1, kMostVlan));
}

std::optional<std::uint16_t> parse_vlan(std::string_view text) {
  std::uint16_t vlan = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), vlan);
  if (failure != std::errc{} || end != text.data() + text.size() || vlan == 0 || vlan > kMostVlan) return std::nullopt;
  return vlan;
}

/// Adds a VLAN ("10") or a range of VLANs ("20-29").
void add_vlans(const ConfigNode& node, Vlans& vlans) {
  const std::string text = node.text();
  const std::size_t dash = text.find('-');
  const auto first = parse_vlan(std::string_view(text).substr(0, dash));
  const auto last = dash == std::string::npos ? first : parse_vlan(std::string_view(text).substr(dash + 1));
  if (!first || !last || *last < *first) {
    throw node.error(
        fmt::format("expected a VLAN from 1 to {} or a range of them, as 20-29, found '{}'", kMostVlan, text));
  }
  for (std::size_t vlan = *first; vlan <= *last; ++vlan) {
    if (vlans.test(vlan)) throw node.error(fmt::format("VLAN {} is in this list already", vlan));
    vlans.set(vlan);
  }
}

void read_trunk(const ConfigNode& node, PortConfiguration& port) {
  node.require_map({"vlans", "native"});
  const ConfigNode vlans = node.at("vlans"), native = node.get("native");
  for (const auto& element : vlans.list()) add_vlans(element, port.vlans);
  port.trunk = true;
  port.native = native.present() ? read_vlan(native) : 0;
  if (native.present()) port.vlans.set(port.native);
  if (port.vlans.none()) throw vlans.error("expected at least one VLAN");
}

void read_storm_control(const ConfigNode& node, PortConfiguration& port) {
  node.require_map({kStormNames[0], kStormNames[1], kStormNames[2]});
  for (std::size_t storm = 0; storm < kStorms; ++storm) {
    const ConfigNode limit = node.get(kStormNames[storm]);
    if (limit.present()) port.storm_limits[storm] = static_cast<std::uint32_t>(limit.integer(1, kMostPacketsPerSecond));
  }
}

PortConfiguration read_port(const ConfigNode& node) {
  node.require_map({"access", "trunk", "storm_control"});
  PortConfiguration port;
  const ConfigNode access = node.get("access"), trunk = node.get("trunk"), storms = node.get("storm_control");
  if (access.present() && trunk.present()) throw trunk.error("a port is an access port or a trunk, not both");
  if (trunk.present()) {
    read_trunk(trunk, port);
  } else {
    if (access.present()) port.native = read_vlan(access);
    port.vlans.set(port.native);
  }
  if (storms.present()) read_storm_control(storms, port);
  return port;
}

std::uint16_t read_port_name(const ConfigNode& node, std::span<const PortInfo> ports,
                             const std::vector<std::string>& names) {
  const std::string name = node.text();
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    throw node.error(fmt::format("there is no port '{}'; {}", name, did_you_mean_or_list(name, names)));
  }
  return ports[static_cast<std::size_t>(found - names.begin())].index;
}

/// Adds a static station. Throws the result of `refuse` if the VLAN, the port or the station is invalid.
enum class Wrong : std::uint8_t { station, port };
template <class Refuse>
void add_static(const StationEntry& entry, const std::vector<std::string>& names, Configuration& configuration,
                const Refuse& refuse) {
  const std::uint16_t vlan = vlan_of(entry, configuration);
  if (vlan == 0) throw refuse(Wrong::station, "expected a vlan: the port takes no untagged frames");
  if (!configuration.ports[entry.port].vlans.test(vlan)) {
    throw refuse(Wrong::port, fmt::format("port '{}' is no member of VLAN {}", names[entry.port], vlan));
  }
  if (!configuration.static_stations.emplace(Station{vlan, entry.mac}, entry.port).second) {
    throw refuse(Wrong::station, fmt::format("{} is there already in VLAN {}", to_string(entry.mac), vlan));
  }
}

void read_static_entry(const ConfigNode& entry, std::span<const PortInfo> ports, const std::vector<std::string>& names,
                       Configuration& configuration) {
  entry.require_map({"mac", "vlan", "port"});
  const ConfigNode mac = entry.at("mac"), vlan = entry.get("vlan"), where = entry.at("port");
  const auto address = parse_mac_address(mac.text());
  if (!address || address->is_multicast() || address->value == 0) {
    throw mac.error("expected the MAC address of a station, as 02:00:00:00:00:01, found '" + mac.text() + "'");
  }
  StationEntry station{.mac = *address, .port = read_port_name(where, ports, names), .vlan = {}, .line = 0};
  if (vlan.present()) station.vlan = read_vlan(vlan);
  add_static(station, names, configuration, [&](Wrong what, const std::string& message) {
    return (what == Wrong::port ? where : entry).error(message);
  });
}

/// Reads a list of maps, or lines in the syntax of the command `station`.
void read_static(const ConfigNode& node, std::span<const PortInfo> ports, const std::vector<std::string>& names,
                 Configuration& configuration) {
  if (node.is_list()) {
    const auto entries = node.list();
    if (std::ranges::any_of(entries, &ConfigNode::is_map)) {
      for (const auto& entry : entries) read_static_entry(entry, ports, names, configuration);
      return;
    }
  }
  control::parse_config_lines(node, [&](const std::string& text, const std::string& name) {
    for (const StationEntry& entry : parse_stations(text, name, ports)) {
      add_static(entry, names, configuration, [&](Wrong /*what*/, const std::string& message) {
        return control::error_in_line(text, name, entry.line, message);
      });
    }
    return 0;
  });
}

std::string in_words(const PortConfiguration& port) {
  std::string text =
      port.trunk ? "trunk of VLANs " + to_string(port.vlans) : fmt::format("access VLAN {}", port.native);
  if (port.trunk && port.native != 0) text += fmt::format(", native {}", port.native);
  for (std::size_t storm = 0; storm < kStorms; ++storm) {
    if (port.storm_limits[storm] != 0) text += fmt::format(", {} {}/s", kStormNames[storm], port.storm_limits[storm]);
  }
  return text;
}

}  // namespace

Configuration read_configuration(const ConfigNode& config, std::span<const PortInfo> ports) {
  config.require_map({"ports", "ageing", "max_stations", "static", "engine"});
  Configuration configuration;
  std::vector<std::string> names;
  names.reserve(ports.size());
  for (const auto& port : ports) names.push_back(port.name);
  PortConfiguration usual;
  usual.vlans.set(usual.native);
  configuration.ports.resize(ports.size(), usual);
  if (const ConfigNode node = config.get("ports"); node.present()) {
    for (const auto& name : node.is_map() ? node.keys() : std::vector<std::string>{}) {
      if (std::ranges::find(names, name) == names.end()) {
        throw node.get(name).error("there is no port " + quote(name) + "; " + did_you_mean_or_list(name, names));
      }
    }
    node.require_map(names);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (const ConfigNode port = node.get(names[i]); port.present()) configuration.ports[i] = read_port(port);
    }
  }
  if (const ConfigNode node = config.get("ageing"); node.present()) {
    configuration.ageing = static_cast<std::uint32_t>(node.integer(0, kMostAgeing));
  }
  if (const ConfigNode node = config.get("max_stations"); node.present()) {
    configuration.max_stations = node.integer(1, StationTable::kMost);
  }
  if (const ConfigNode node = config.get("static"); node.present()) {
    read_static(node, ports, names, configuration);
    if (configuration.static_stations.size() > configuration.max_stations) {
      throw node.error(fmt::format("these are {} stations, and max_stations is {}",
                                   configuration.static_stations.size(), configuration.max_stations));
    }
  }
  return configuration;
}

std::vector<std::string> warnings_of(const Configuration& configuration, const ConfigNode& config,
                                     std::span<const PortInfo> ports) {
  std::vector<std::string> warnings;
  Vlans one, several;
  for (const PortConfiguration& port : configuration.ports) {
    several |= one & port.vlans;
    one |= port.vlans;
  }
  if (!ports.empty() && several.none()) {
    warnings.emplace_back(
        config.error("no VLAN has two ports, so no frame is forwarded; 'ports' says which VLANs a port has").what());
  }
  for (const PortInfo& port : ports) {
    if (port.promiscuous) continue;
    warnings.emplace_back(config
                              .error(fmt::format("port '{}' is not promiscuous, so that its card may leave out frames "
                                                 "for the stations of other ports; write 'promiscuous: true' there",
                                                 port.name))
                              .what());
  }
  return warnings;
}

std::vector<std::string> differences(const Configuration& before, const Configuration& after,
                                     std::span<const PortInfo> ports) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min({before.ports.size(), after.ports.size(), ports.size()}); ++i) {
    if (before.ports[i] == after.ports[i] || ports[i].removed) continue;
    lines.push_back(
        fmt::format("port {}: {}, was {}", ports[i].name, in_words(after.ports[i]), in_words(before.ports[i])));
  }
  if (before.ageing != after.ageing)
    lines.push_back(fmt::format("ageing: {} s, was {} s", after.ageing, before.ageing));
  if (before.max_stations != after.max_stations) {
    lines.push_back(fmt::format("max_stations: {}, was {}", after.max_stations, before.max_stations));
  }
  const auto is_in = [](const auto& map, const auto& entry) {
    const auto found = map.find(entry.first);
    return found != map.end() && found->second == entry.second;
  };
  const auto lost = std::ranges::count_if(before.static_stations,
                                          [&](const auto& entry) { return !is_in(after.static_stations, entry); });
  const auto added = std::ranges::count_if(after.static_stations,
                                           [&](const auto& entry) { return !is_in(before.static_stations, entry); });
  if (lost + added > 0) lines.push_back(fmt::format("static stations: {} added, {} removed", added, lost));
  return lines;
}

std::string to_string(const Vlans& vlans) {
  std::vector<std::string> parts;
  for (std::size_t first = 1; first <= kMostVlan; ++first) {
    if (!vlans.test(first)) continue;
    std::size_t last = first;
    while (last < kMostVlan && vlans.test(last + 1)) ++last;
    parts.push_back(first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last));
    first = last;
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace penumbra::l2
