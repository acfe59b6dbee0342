// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>

namespace penumbra::control {

/// An IPv4 or IPv6 address with a port, as the system's calls take it.
struct Endpoint {
  sockaddr_storage address{};
  socklen_t bytes = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  sa_family_t family() const { return address.ss_family; }
  /// 0.0.0.0 or ::.
  bool is_any() const;
  /// A group's address, or 255.255.255.255.
  bool is_group_or_broadcast() const;
  /// fe80::/10, which does not say on which link.
  bool is_link_local() const;
  bool operator==(const Endpoint& other) const;
};

/// A.B.C.D:PORT or [X:X::X]:PORT with a port from 1 to 65535; nothing for anything else.
std::optional<Endpoint> parse_endpoint(const std::string& text);
/// The same form.
std::string to_string(const Endpoint& endpoint);

}  // namespace penumbra::control
