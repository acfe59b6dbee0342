// SPDX-License-Identifier: Apache-2.0
//
// The host's interfaces, and which of them stand for a port.
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
  std::optional<std::uint16_t> port;  ///< whose twin it is
  bool told_again = true;             ///< since begin_sync()
};

class Links {
 public:
  /// `twins`: the names of the interfaces that stand for the ports, by port; empty for a port without one.
  explicit Links(std::vector<std::string> twins) : twins_(std::move(twins)) {}

  /// Other interfaces stand for the ports.
  void set_twins(std::vector<std::string> twins);

  /// Takes a message over. Returns whether routes may have changed of which the kernel says nothing, or lead elsewhere
  /// now: an interface went down or away (with it go IPv4 routes and next hops), or up (next hops come again), its
  /// carrier went (with it go next-hop objects) or came, it has another name, a VRF has another table.
  bool update(const LinkMessage& message);
  /// What is updated between the two is all there is; only if it is `complete`, the others are forgotten.
  void begin_sync();
  void end_sync(bool complete);

  /// The interface of that number, or null.
  const Link* find(std::uint32_t index) const;
  /// The table of the VRF of that name.
  std::optional<std::uint32_t> vrf_table(const std::string& name) const;

 private:
  std::optional<std::uint16_t> port_of(const std::string& name) const;

  std::vector<std::string> twins_;
  std::map<std::uint32_t, Link> by_index_;
};

}  // namespace penumbra::control::netlink
