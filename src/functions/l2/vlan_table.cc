// SPDX-License-Identifier: Apache-2.0
#include "functions/l2/vlan_table.h"

#include <algorithm>

namespace penumbra::l2 {
namespace {

constexpr double kTicksPerSecond = 1e9;

}  // namespace

namespace {

/// Returns the configuration of a removed port.
const PortConfiguration& of_no_vlan() {
  static const PortConfiguration kNone = [] {
    PortConfiguration none;
    none.native = 0;
    return none;
  }();
  return kNone;
}

}  // namespace

VlanTable::VlanTable(const Configuration& configuration, std::span<const PortInfo> ports)
    : ports_(ports.size()), vlans_(1) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const PortConfiguration& port = ports[i].removed ? of_no_vlan() : configuration.ports[i];
    const auto has_limit = [](std::uint32_t limit) { return limit != 0; };
    ports_[i] = {.mac = ports[i].mac.value,
                 .mtu = ports[i].mtu,
                 .native = port.native,
                 .has_limits = std::ranges::any_of(port.storm_limits, has_limit),
                 .vlans = port.vlans};
    for (const std::uint32_t limit : port.storm_limits) limits_.emplace_back(limit, kTicksPerSecond);
    for (std::uint16_t number = 1; number <= kMostVlan; ++number) {
      if (!port.vlans.test(number)) continue;
      if (index_[number] == 0) {
        index_[number] = static_cast<std::uint16_t>(vlans_.size());
        vlans_.emplace_back();
      }
      Vlan& vlan = vlans_[index_[number]];
      (number == port.native ? vlan.untagged : vlan.tagged).push_back(static_cast<std::uint16_t>(i));
    }
  }
  const auto mtu = [this](std::uint16_t port) { return ports_[port].mtu; };
  for (Vlan& vlan : vlans_) {
    for (auto* list : {&vlan.untagged, &vlan.tagged}) std::ranges::sort(*list, std::ranges::greater{}, mtu);
  }
}

std::span<const std::uint16_t> VlanTable::output_ports(std::span<const std::uint16_t> ports,
                                                       std::uint32_t payload_bytes) const {
  const auto takes = [&](std::uint16_t port) { return ports_[port].mtu >= payload_bytes; };
  if (ports.empty() || takes(ports.back())) [[likely]] {
    return ports;
  }
  return ports.first(static_cast<std::size_t>(std::ranges::partition_point(ports, takes) - ports.begin()));
}

}  // namespace penumbra::l2
