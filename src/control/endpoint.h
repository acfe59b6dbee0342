// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>

namespace penumbra::control {

/// Holds an IPv4 or IPv6 address with a port, in the form of the system calls.
struct Endpoint {
  sockaddr_storage address{};
  socklen_t bytes = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  sa_family_t family() const { return address.ss_family; }
  /// Returns true for 0.0.0.0 and ::.
  bool is_any() const;
  /// Returns true for a multicast address and 255.255.255.255.
  bool is_group_or_broadcast() const;
  /// Returns true for fe80::/10, which does not name its link.
  bool is_link_local() const;
  bool operator==(const Endpoint& other) const;
};

/// Parses A.B.C.D:PORT or [X:X::X]:PORT with a port from 1 to 65535. Returns nothing for other text.
std::optional<Endpoint> parse_endpoint(const std::string& text);
/// Returns the form that parse_endpoint() reads.
std::string to_string(const Endpoint& endpoint);

}  // namespace penumbra::control
