// SPDX-License-Identifier: Apache-2.0
#include "functions/l2/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "control/line_reader.h"
#include "control/routes.h"
#include "control/rules/number.h"
#include "penumbra/errors.h"

namespace penumbra::l2 {
namespace {

using control::Attribute;
using control::Line;

/// Lists the other words of the output of `bridge fdb`.
constexpr std::array<Attribute, 5> kAttributes{{{"master"},
                                                {"self", Attribute::kFlag},
                                                {"static", Attribute::kFlag},
                                                {"permanent", Attribute::kFlag},
                                                {"sticky", Attribute::kFlag}}};

StationEntry parse_station(Line& line, std::span<const PortInfo> ports, const std::vector<std::string>& names) {
  StationEntry entry{.mac = {}, .port = 0, .vlan = {}, .line = line.number()};
  const std::string_view word = line.take();
  const auto mac = parse_mac_address(word);
  if (!mac || mac->is_multicast() || mac->value == 0) {
    throw line.error(word, "expected the MAC address of a station (XX:XX:XX:XX:XX:XX), found " + quote(word));
  }
  entry.mac = *mac;
  bool has_port = false;
  for (std::string_view key = line.take(); !key.empty(); key = line.take()) {
    if (key == "dev") {
      const std::string_view port = control::parse_port(line, line.require("the name of a port"), names);
      entry.port = ports[static_cast<std::size_t>(std::ranges::find(names, port) - names.begin())].index;
      has_port = true;
    } else if (key == "vlan") {
      const std::string_view value = line.require("a VLAN");
      const auto vlan = control::rules::parse_number(value, kMostVlan);
      if (!vlan || *vlan == 0) {
        throw line.error(value, fmt::format("expected a VLAN from 1 to {}, found {}", kMostVlan, quote(value)));
      }
      entry.vlan = static_cast<std::uint16_t>(*vlan);
    } else if (!line.skip_attribute(key, kAttributes)) {
      throw line.unexpected(key, "more of the station", {"dev", "vlan", "static", "permanent", "master"});
    }
  }
  if (!has_port) throw line.error(word, "'dev PORT' is missing");
  return entry;
}

/// Returns the station of an entry. Throws the result of `error` for an invalid VLAN.
template <class Error>
Station station_of(const StationEntry& entry, const Configuration& configuration, std::span<const PortInfo> ports,
                   const Error& error) {
  const std::uint16_t vlan = vlan_of(entry, configuration);
  if (vlan == 0)
    throw error(
        fmt::format("port {} takes no untagged frames: name a VLAN with 'vlan N'", quote(ports[entry.port].name)));
  if (!configuration.ports[entry.port].vlans.test(vlan)) {
    throw error(fmt::format("port {} is no member of VLAN {}", quote(ports[entry.port].name), vlan));
  }
  return {vlan, entry.mac};
}

}  // namespace

std::vector<StationEntry> parse_stations(std::string_view text, const std::string& name,
                                         std::span<const PortInfo> ports) {
  std::vector<std::string> names;
  for (const PortInfo& port : ports) names.push_back(port.name);
  std::vector<StationEntry> entries;
  control::LineReader reader(text, name);
  for (Line line; reader.next(line);) entries.push_back(parse_station(line, ports, names));
  return entries;
}

std::uint16_t vlan_of(const StationEntry& entry, const Configuration& configuration) {
  return entry.vlan.value_or(configuration.ports[entry.port].native);
}

std::string text_of(Station station, std::uint16_t port, std::span<const PortInfo> ports) {
  return fmt::format("{} dev {} vlan {}", to_string(station.mac), ports[port].name, station.vlan);
}

std::vector<FunctionCommand> commands() {
  const std::string station = "MAC dev PORT [vlan N]";
  return {{.name = "station",
           .help = "Add and remove static stations of a running router's switch, as `bridge fdb` does",
           .actions = {{"add", "Add stations that are not static yet", station},
                       {"del", "Remove static stations", station},
                       {"replace", "Add static stations, or move those that are there to another port", station}},
           .topic = "stations"}};
}

EditedStations edit(const Configuration& configuration, std::string_view action, const CommandEntries& entries,
                    std::span<const PortInfo> ports) {
  EditedStations edited{.stations = configuration.static_stations, .counts = {}};
  std::map<Station, int> lines;
  for (const StationEntry& entry : parse_stations(entries.text, entries.name, ports)) {
    const auto error = [&](const std::string& message) {
      return control::error_in_line(entries.text, entries.name, entry.line, message);
    };
    const Station station = station_of(entry, configuration, ports, error);
    const auto [first, is_first] = lines.try_emplace(station, entry.line);
    if (!is_first) throw error(fmt::format("line {} has this station already", first->second));
    const auto known = edited.stations.find(station);
    if (action == "del") {
      if (known == edited.stations.end() || known->second != entry.port) {
        throw error(
            fmt::format("there is no such static station{}; `station show` lists the stations",
                        known == edited.stations.end() ? "" : ": it is " + text_of(station, known->second, ports)));
      }
      edited.stations.erase(known);
      ++edited.counts.removed;
    } else if (known == edited.stations.end()) {
      edited.stations.emplace(station, entry.port);
      ++edited.counts.added;
    } else if (action == "add") {
      throw error(fmt::format("the station is static already ({}); `station replace` moves it",
                              text_of(station, known->second, ports)));
    } else if (known->second != entry.port) {
      known->second = entry.port;
      ++edited.counts.changed;
    }
    if (edited.stations.size() > configuration.max_stations) {
      throw error(fmt::format("these are more stations than 'max_stations' ({})", configuration.max_stations));
    }
  }
  return edited;
}

}  // namespace penumbra::l2
