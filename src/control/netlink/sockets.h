// SPDX-License-Identifier: Apache-2.0
//
// The two sockets by which the kernel is followed: one hears what changes, one asks for everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "control/netlink/message.h"

struct mnl_socket;

namespace penumbra::control::netlink {

struct CloseSocket {
  void operator()(mnl_socket* socket) const;
};
using Socket = std::unique_ptr<mnl_socket, CloseSocket>;

using Visit = std::function<void(const Message& message)>;

/// Hears of links, addresses, neighbours, routes and next-hop objects, all of it from the moment it is made.
class EventSocket {
 public:
  /// Throws std::system_error.
  EventSocket();
  int descriptor() const;

  enum class Received : std::uint8_t { nothing, messages, overflow };
  /// Visits the messages of one datagram, if one is there; after `overflow` some were lost. Throws std::system_error.
  Received receive(const Visit& visit);

 private:
  Socket socket_;
  std::vector<std::byte> buffer_;
};

/// Asks for all there is of a kind.
class DumpSocket {
 public:
  DumpSocket();

  /// Visits everything of a kind: RTM_GETLINK and the like, AF_INET or such. Returns whether the answer is of one
  /// moment; else something changed meanwhile and may be missing. A kind that this kernel does not know is empty.
  /// Throws std::system_error.
  bool dump(std::uint16_t type, std::uint8_t family, const Visit& visit);
  /// Lets the kernel ask a neighbour whether it is still there, as if a packet had been sent to it.
  void probe(std::uint32_t interface, const std::variant<Ipv4Address, Ipv6Address>& address);

 private:
  Socket socket_;
  std::vector<std::byte> buffer_;
  std::uint32_t sequence_ = 0;
};

}  // namespace penumbra::control::netlink
