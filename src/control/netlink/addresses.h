// SPDX-License-Identifier: Apache-2.0
//
// The addresses that an interface of the host is given by this program, by rtnetlink.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "control/netlink/sockets.h"
#include "penumbra/function.h"

namespace penumbra::control::netlink {

/// An address with the length of its network's prefix.
struct HostAddress {
  std::variant<Ipv4Address, Ipv6Address> address;
  std::uint8_t length = 0;
  bool operator==(const HostAddress&) const = default;
};

/// "192.0.2.1/24".
std::string to_string(const HostAddress& address);

/// The addresses of a port, as an interface of the host may have them.
std::vector<HostAddress> host_addresses(const PortInfo& port);

/// Gives interfaces their addresses and finds out when something changes there. Used by one thread at a time. What it
/// adds is marked as this program's (IFA_PROTO, Linux 5.18), so that a later run knows what it may remove.
class AddressReconciler {
 public:
  /// Throws std::system_error.
  AddressReconciler();

  /// Readable when addresses may have changed.
  int descriptor() const;
  /// Whether any address or link of the host may have changed since this last said so; at first it says so.
  bool changed();

  /// Lets the interface have all addresses of `wanted`, and none else of those that this program gave it, in this run
  /// or an earlier one. `given` are those of this run, which this updates. What somebody else added stays. Throws
  /// std::system_error, with the address, if the kernel refuses.
  void reconcile(const std::string& interface, const std::vector<HostAddress>& wanted, std::vector<HostAddress>& given);

 private:
  struct Found {
    HostAddress address;
    bool ours = false;
  };
  std::vector<Found> ask(unsigned interface);
  void change(std::uint16_t type, unsigned interface, const HostAddress& address, int permitted);

  Socket requests_, events_;
  std::vector<std::byte> buffer_;
  std::uint32_t sequence_ = 0;
  bool fresh_ = true;
};

}  // namespace penumbra::control::netlink
