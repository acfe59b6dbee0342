// SPDX-License-Identifier: Apache-2.0
//
// Gives addresses to interfaces of the host by rtnetlink.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "control/netlink/sockets.h"
#include "penumbra/function.h"

namespace penumbra::control::netlink {

/// Holds an address with the prefix length of its network.
struct HostAddress {
  std::variant<Ipv4Address, Ipv6Address> address;
  std::uint8_t length = 0;
  bool operator==(const HostAddress&) const = default;
};

/// Returns the form "192.0.2.1/24".
std::string to_string(const HostAddress& address);

/// Returns the addresses of a port in the form for an interface of the host.
std::vector<HostAddress> host_addresses(const PortInfo& port);

/// Assigns addresses to interfaces and detects changes of addresses. One thread at a time may use it. Added addresses
/// carry this program's mark (IFA_PROTO, Linux 5.18), so that a later run knows which addresses it may remove.
class AddressReconciler {
 public:
  /// Opens the sockets. Throws std::system_error.
  AddressReconciler();

  /// Returns a descriptor that is readable when addresses may have changed.
  int descriptor() const;
  /// Returns true if any address or link of the host may have changed since the last call, and at the first call.
  bool changed();

  /// Assigns all addresses of `wanted` to the interface, and removes others that this program added in this run or an
  /// earlier one. `given` are the addresses of this run; the call updates them. Addresses from elsewhere stay. Throws
  /// std::system_error with the address if the kernel refuses.
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
