// SPDX-License-Identifier: Apache-2.0
//
// Holds the VLANs and ports that workers read. The table is built from a configuration and immutable.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/rate_limiter.h"
#include "functions/l2/configuration.h"
#include "penumbra/function.h"

namespace penumbra::l2 {

/// Holds the ports of a VLAN whose frames leave untagged and tagged, each sorted by falling MTU.
struct Vlan {
  std::vector<std::uint16_t> untagged, tagged;
};

struct SwitchPort {
  std::uint64_t mac = 0;
  std::uint32_t mtu = 0;     ///< bytes after the Ethernet header and tag
  std::uint16_t native = 0;  ///< 0: no native VLAN
  bool has_limits = false;
  Vlans vlans;
};

class VlanTable {
 public:
  VlanTable(const Configuration& configuration, std::span<const PortInfo> ports);

  const SwitchPort& port(std::uint16_t index) const { return ports_[index]; }
  /// Returns a VLAN. A VLAN without members has no ports.
  const Vlan& vlan(std::uint16_t number) const { return vlans_[index_[number]]; }
  /// Returns the first of a VLAN's untagged or tagged ports: those whose MTU allows a payload of `payload_bytes`.
  std::span<const std::uint16_t> output_ports(std::span<const std::uint16_t> ports, std::uint32_t payload_bytes) const;
  /// Takes one packet from the port's limit. Returns false if the limit is exceeded. `now` is the time in nanoseconds
  /// of a steady clock.
  bool within_limit(std::uint16_t port, Storm storm, std::uint64_t now) const {
    return limits_[port * kStorms + static_cast<std::size_t>(storm)].take(now, 1) == 1;
  }

 private:
  std::vector<SwitchPort> ports_;
  std::array<std::uint16_t, kMostVlan + 2> index_{};  ///< index in vlans_ by VLAN number; vlans_[0] is empty
  std::vector<Vlan> vlans_;
  mutable std::deque<RateLimiter> limits_;  ///< by port and Storm
};

}  // namespace penumbra::l2
