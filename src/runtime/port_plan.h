// SPDX-License-Identifier: Apache-2.0
//
// What another configuration means for the ports of a running router: which are added, removed or changed, and where
// each has its place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/config.h"

namespace penumbra::runtime {

/// A place among the ports, as it is now.
struct PlacedPort {
  control::PortConfig config;
  bool removed = false;  ///< the place of a port that was removed; it may come again
};

struct PortPlan {
  /// The configuration with its ports at their places; places that are not taken have ports that are removed.
  control::RouterConfig placed;
  std::vector<std::uint16_t> added;      ///< places, also those of ports that come again
  std::vector<std::uint16_t> removed;    ///< likewise
  std::vector<std::uint16_t> reopened;   ///< places of ports whose device takes another MTU
  std::vector<std::uint16_t> resized;    ///< places of built-in ports with another MTU, which no device need know
  std::vector<std::uint16_t> new_twins;  ///< of ports that stay: their twin has another name, comes or goes
  std::vector<std::string> changes;      ///< in words, with port and key
  std::vector<std::string> restarts;     ///< what only a restart can change: "ports.wan.queues"

  bool is_empty() const { return changes.empty() && restarts.empty(); }
};

/// Compares the ports of `next` with those that there are, by name. A port that stays keeps its place, one that comes
/// again gets its old one, others follow behind.
PortPlan plan_ports(const std::vector<PlacedPort>& now, const control::RouterConfig& next);

}  // namespace penumbra::runtime
