// SPDX-License-Identifier: Apache-2.0
//
// Provides the two sockets that follow the kernel: one receives events, one requests dumps.
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

/// Receives all events of links, addresses, neighbours, routes and next-hop objects since its construction.
class EventSocket {
 public:
  /// Opens the socket. Throws std::system_error.
  EventSocket();
  int descriptor() const;

  enum class Received : std::uint8_t { nothing, messages, overflow };
  /// Visits the messages of one datagram, if there is one. `overflow` means that messages were lost. Throws
  /// std::system_error.
  Received receive(const Visit& visit);

 private:
  Socket socket_;
  std::vector<std::byte> buffer_;
};

/// Requests dumps.
class DumpSocket {
 public:
  DumpSocket();

  /// Visits all objects of a type. `type` is a request such as RTM_GETLINK, `family` an address family such as AF_INET.
  /// Returns true if the dump is consistent; after false, objects may be missing because of a concurrent change. Visits
  /// nothing for a type that this kernel does not know. Throws std::system_error.
  bool dump(std::uint16_t type, std::uint8_t family, const Visit& visit);
  /// Makes the kernel probe a neighbour, as if a packet had been sent to it.
  void probe(std::uint32_t interface, const std::variant<Ipv4Address, Ipv6Address>& address);

 private:
  Socket socket_;
  std::vector<std::byte> buffer_;
  std::uint32_t sequence_ = 0;
};

}  // namespace penumbra::control::netlink
