// SPDX-License-Identifier: Apache-2.0
//
// Which port is in which VLAN and how frames leave it, as workers read it: made of a configuration, never changed.
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

/// A VLAN's ports, by how its frames leave them. Those that take longer frames stand first.
struct Vlan {
  std::vector<std::uint16_t> untagged, tagged;
};

struct SwitchPort {
  std::uint64_t mac = 0;
  std::uint32_t mtu = 0;     ///< bytes behind the Ethernet header and tag
  std::uint16_t native = 0;  ///< 0: none
  bool has_limits = false;
  Vlans vlans;
};

class VlanTable {
 public:
  VlanTable(const Configuration& configuration, std::span<const PortInfo> ports);

  const SwitchPort& port(std::uint16_t index) const { return ports_[index]; }
  /// Of a VLAN that some port is a member of; of any other one without ports.
  const Vlan& vlan(std::uint16_t number) const { return vlans_[index_[number]]; }
  /// Those of a VLAN's untagged or tagged ports that take a payload of so many bytes: the first ones.
  std::span<const std::uint16_t> output_ports(std::span<const std::uint16_t> ports, std::uint32_t payload_bytes) const;
  /// Whether a packet that the port floods now, in nanoseconds of one clock, is within its limit; it is taken as gone.
  bool within_limit(std::uint16_t port, Storm storm, std::uint64_t now) const {
    return limits_[port * kStorms + static_cast<std::size_t>(storm)].take(now, 1) == 1;
  }

 private:
  std::vector<SwitchPort> ports_;
  std::array<std::uint16_t, kMostVlan + 2> index_{};  ///< by number, in vlans_; the first one is empty
  std::vector<Vlan> vlans_;
  mutable std::deque<RateLimiter> limits_;  ///< by port and Storm
};

}  // namespace penumbra::l2
