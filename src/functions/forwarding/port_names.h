// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "control/routes.h"
#include "functions/forwarding/family.h"
#include "functions/forwarding/next_hops.h"
#include "penumbra/function.h"

namespace penumbra::forwarding {

/// Converts targets between names of ports, which users see, and indices of ports.
template <ForwardingFamily Family>
class PortNames {
 public:
  using Hop = HopOf<Family>;
  using Target = TargetOf<Family>;
  using NextHop = control::NextHopOf<typename Family::AddressFamily>;
  using RouteTarget = control::RouteTargetOf<typename Family::AddressFamily>;

  explicit PortNames(std::span<const PortInfo> ports) { set_ports(ports); }
  void set_ports(std::span<const PortInfo> ports);
  std::span<const PortInfo> ports() const { return ports_; }

  /// Throws std::invalid_argument if there is no such port.
  std::uint16_t index_of(const std::string& name) const;
  /// Returns the index of the port that has this name, or had it last. Throws std::invalid_argument if none ever had.
  std::uint16_t last_index_of(const std::string& name) const;
  /// Returns "host" for Hop::kHost.
  std::string name_of(std::uint16_t port) const;
  /// Throws std::invalid_argument for an unknown port, or as check() does.
  Target to_target(const RouteTarget& target) const;
  /// Throws std::invalid_argument if the target is invalid.
  void check(const Target& target) const;

  std::vector<NextHop> next_hops(const Target& target) const;
  /// Returns Fib::Answer::target.
  std::string text(const Target& target) const;

 private:
  std::vector<PortInfo> ports_;
  std::unordered_map<std::string, std::uint16_t> indices_, last_indices_;
};

}  // namespace penumbra::forwarding
