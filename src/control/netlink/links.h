// SPDX-License-Identifier: Apache-2.0
//
// Tracks the host's interfaces and the ports that they represent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "control/netlink/message.h"

namespace penumbra::control::netlink {

struct Link {
  std::string name;
  bool up = false, carrier = false;
  std::optional<std::uint32_t> vrf_table;
  std::optional<std::uint16_t> port;  ///< The port whose twin the interface is.
  bool reported_again = true;         ///< Since begin_sync().
};

class Links {
 public:
  /// `twins` are the names of the interfaces that represent the ports, by port; empty for a port without one.
  explicit Links(std::vector<std::string> twins) : twins_(std::move(twins)) {}

  /// Replaces the names of the interfaces that represent the ports.
  void set_twins(std::vector<std::string> twins);

  /// Applies a message. Returns true if routes may have changed without a report by the kernel, or may lead elsewhere.
  /// That is so if an interface is removed or goes down (IPv4 routes and next hops are lost) or up (next hops return).
  /// It is also so if the carrier changes (next-hop objects are lost), the name changes, or the table of a VRF changes.
  bool update(const LinkMessage& message);
  /// begin_sync() and end_sync() enclose a dump of all interfaces. If the dump is `complete`, end_sync() forgets the
  /// other interfaces.
  void begin_sync();
  void end_sync(bool complete);

  /// Returns the interface with index `index`, or null.
  const Link* find(std::uint32_t index) const;
  /// Returns the routing table of the VRF called `name`, or nothing.
  std::optional<std::uint32_t> vrf_table(const std::string& name) const;

 private:
  std::optional<std::uint16_t> port_of(const std::string& name) const;

  std::vector<std::string> twins_;
  std::map<std::uint32_t, Link> by_index_;
};

}  // namespace penumbra::control::netlink
