// SPDX-License-Identifier: Apache-2.0
#include "runtime/port_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "control/device_arguments.h"

namespace penumbra::runtime {
namespace {

constexpr std::size_t kMostPlaces = 1024;

std::string value_of(const control::PortConfig& port, const std::string& key) {
  const auto found = port.keys.find(key);
  return found == port.keys.end() ? "not set" : found->second;
}

bool is_ethdev(const control::PortConfig& port) {
  return std::holds_alternative<control::Ethdev>(port.device);
}

/// Returns true for a PCI device. Such a device can be opened only if the router started with one, because the bus is
/// scanned at the start only.
bool is_pci(const control::PortConfig& port) {
  const auto* const device = std::get_if<control::Ethdev>(&port.device);
  return device != nullptr && device->is_pci;
}

/// Returns true if the two devices cannot be open at the same time: they have the name or the interface in common.
bool share_device(const control::Ethdev& a, const control::Ethdev& b) {
  const auto name = [](const control::Ethdev& device) {
    return control::device_name(device.devargs) + control::devarg(device.devargs, "representor");
  };
  const std::string interface = control::device_interface(a.devargs);
  return name(a) == name(b) || (!interface.empty() && interface == control::device_interface(b.devargs));
}

/// Returns true if the two ports cannot be open at the same time: they have a device or a capture in common.
bool are_exclusive(const control::PortConfig& a, const control::PortConfig& b) {
  if (is_ethdev(a) || is_ethdev(b)) {
    return is_ethdev(a) && is_ethdev(b) &&
           share_device(std::get<control::Ethdev>(a.device), std::get<control::Ethdev>(b.device));
  }
  const auto* const sink = std::get_if<control::CaptureSink>(&a.sink);
  const auto* const other = std::get_if<control::CaptureSink>(&b.sink);
  return sink != nullptr && other != nullptr && sink->file == other->file;
}

/// Returns true for a key of a port that can change while its device is open, or after it is opened again.
bool is_changeable(const std::string& key) {
  return key == "name" || key == "addresses" || key == "mtu" || key == "twin";
}

/// Returns the names of the keys that one of the ports has.
std::set<std::string> keys_of(const control::PortConfig& before, const control::PortConfig& after) {
  std::set<std::string> keys;
  for (const auto* port : {&before, &after}) {
    for (const auto& [key, value] : port->keys) keys.insert(key);
  }
  return keys;
}

/// Returns the configuration of an unoccupied place.
control::PortConfig nobody(std::uint16_t index) {
  control::PortConfig port;
  port.info.index = index;
  port.info.removed = true;
  return port;
}

class Planner {
 public:
  Planner(const std::vector<PlacedPort>& now, const control::RouterConfig& next) : now_(now), next_(next) {
    plan_.placed = next;
    plan_.placed.ports.clear();
    const auto count = static_cast<std::uint16_t>(now.size());
    for (std::uint16_t i = 0; i < count; ++i) plan_.placed.ports.push_back(nobody(i));
    for (const auto& port : next.ports) place(port);
    for (std::uint16_t i = 0; i < count; ++i) {
      if (now[i].removed || !plan_.placed.ports[i].info.removed) continue;
      plan_.removed.push_back(i);
      plan_.changes.push_back(fmt::format("ports.{}: removed", now[i].config.info.name));
    }
  }

  PortPlan take() { return std::move(plan_); }

 private:
  void place(const control::PortConfig& port) {
    const auto at = find(port);
    auto index = static_cast<std::uint16_t>(at - now_.begin());
    if (at == now_.end()) {
      index = static_cast<std::uint16_t>(plan_.placed.ports.size());
      plan_.placed.ports.push_back(nobody(index));
    }
    control::PortConfig& placed = plan_.placed.ports[index] = port;
    placed.info.index = index;
    if (at == now_.end() || at->removed) {
      if (!is_ethdev(placed) && !placed.keys.contains("mac")) placed.info.mac = control::built_in_mac(index);
      add(placed);
    } else {
      compare(at->config, placed);
    }
  }

  /// Returns the current port of this name, or that this port renames, or a removed port of this name.
  std::vector<PlacedPort>::const_iterator find(const control::PortConfig& port) const {
    const auto find_named = [&](bool removed) {
      return std::ranges::find_if(now_, [&](const PlacedPort& each) {
        return each.removed == removed && each.config.info.name == port.info.name;
      });
    };
    if (const auto current = find_named(false); current != now_.end()) return current;
    const auto renamed = std::ranges::find_if(now_, [&](const PlacedPort& each) { return is_renamed(each, port); });
    return renamed != now_.end() ? renamed : find_named(true);
  }

  bool is_renamed(const PlacedPort& before, const control::PortConfig& after) const {
    const auto place = static_cast<std::size_t>(&before - now_.data());
    const bool is_taken = !plan_.placed.ports[place].info.removed;
    return !before.removed && !is_taken && are_exclusive(before.config, after) &&
           std::ranges::none_of(next_.ports,
                                [&](const auto& port) { return port.info.name == before.config.info.name; });
  }

  void add(const control::PortConfig& port) {
    const auto has_pci = [](const PlacedPort& each) { return is_pci(each.config); };
    if (port.info.index >= kMostPlaces || (is_pci(port) && std::ranges::none_of(now_, has_pci))) {
      plan_.restarts.push_back(fmt::format("ports.{}", port.info.name));
      return;
    }
    plan_.added.push_back(port.info.index);
    plan_.changes.push_back(fmt::format("ports.{}: added, {}", port.info.name, value_of(port, "device")));
  }

  void compare(const control::PortConfig& before, control::PortConfig& after) {
    // The default MAC address of a built-in port depends on its position, which may differ from its place.
    if (!after.keys.contains("mac") && !before.keys.contains("mac")) after.info.mac = before.info.mac;
    for (const auto& key : keys_of(before, after)) {
      if (value_of(before, key) == value_of(after, key)) continue;
      const std::string name = fmt::format("ports.{}.{}", after.info.name, key);
      if (key == "name") {
        plan_.renamed.push_back(after.info.index);
        plan_.changes.push_back(fmt::format("ports.{}: renamed, was {}", after.info.name, before.info.name));
        continue;
      }
      if (key == "mtu") {
        if (before.info.mtu == after.info.mtu) continue;
        (is_ethdev(after) ? plan_.reopened : plan_.resized).push_back(after.info.index);
      } else if (key == "twin") {
        if (before.twin == after.twin) continue;
        plan_.new_twins.push_back(after.info.index);
      } else if (!is_changeable(key)) {
        const bool is_renamed = before.info.name != after.info.name;
        plan_.restarts.push_back(is_renamed ? fmt::format("{} (ports.{} until now)", name, before.info.name) : name);
        continue;
      }
      plan_.changes.push_back(fmt::format("{}: {}, was {}", name, value_of(after, key), value_of(before, key)));
    }
    // `twin: true` takes the port's name.
    if (before.twin == after.twin || value_of(before, "twin") != value_of(after, "twin")) return;
    plan_.new_twins.push_back(after.info.index);
    plan_.changes.push_back(fmt::format("ports.{}.twin: {}, was {}", after.info.name, after.twin, before.twin));
  }

  const std::vector<PlacedPort>& now_;
  const control::RouterConfig& next_;
  PortPlan plan_;
};

}  // namespace

PortPlan plan_ports(const std::vector<PlacedPort>& now, const control::RouterConfig& next) {
  return Planner(now, next).take();
}

}  // namespace penumbra::runtime
