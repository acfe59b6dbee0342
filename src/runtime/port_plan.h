// SPDX-License-Identifier: Apache-2.0
//
// Plans the changes that another configuration requires for a running router's ports: ports to add, remove or change,
// and their places.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/config.h"

namespace penumbra::runtime {

/// Describes a place among the ports in its current state.
struct PlacedPort {
  control::PortConfig config;
  bool removed = false;  ///< The port was removed; it may return to its place.
};

struct PortPlan {
  /// Configuration with its ports at their places. Unoccupied places have removed ports.
  control::RouterConfig placed;
  std::vector<std::uint16_t> added;      ///< places of new and returning ports
  std::vector<std::uint16_t> removed;    ///< places of removed ports
  std::vector<std::uint16_t> renamed;    ///< places of ports with another name, whose devices stay open
  std::vector<std::uint16_t> reopened;   ///< places of ports whose device gets another MTU
  std::vector<std::uint16_t> resized;    ///< places of built-in ports with another MTU, which does not concern a device
  std::vector<std::uint16_t> new_twins;  ///< places of remaining ports whose twin is renamed, added or removed
  std::vector<std::string> changes;      ///< descriptions of the changes, with port and key
  std::vector<std::string> restarts;     ///< keys that only a restart can change: "ports.wan.queues" or, of a renamed
                                         ///< port, "ports.wan.queues (ports.old until now)"

  bool is_empty() const { return changes.empty() && restarts.empty(); }
};

/// Compares the ports of `next` with the current ports by name. A remaining port keeps its place, a returning port gets
/// its old place, and other ports are appended. A new port with the device or sink of a removed port is a renamed port,
/// which keeps its place: most devices can be open only once. Its other keys are compared as those of any port.
PortPlan plan_ports(const std::vector<PlacedPort>& now, const control::RouterConfig& next);

}  // namespace penumbra::runtime
