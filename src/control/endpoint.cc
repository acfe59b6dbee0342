// SPDX-License-Identifier: Apache-2.0
#include "control/endpoint.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace penumbra::control {
namespace {

/// Parses a port from 1 to 65535 and returns it in network order. Returns 0 for other text.
in_port_t parse_port_number(std::string_view text) {
  std::uint16_t port = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
  return failure == std::errc{} && rest == text.data() + text.size() ? htons(port) : in_port_t{0};
}

template <class Address>
Address as(const Endpoint& endpoint) {
  Address address{};
  std::memcpy(&address, &endpoint.address, sizeof address);
  return address;
}

in6_addr ipv6_of(const Endpoint& endpoint) {
  return as<sockaddr_in6>(endpoint).sin6_addr;
}
std::uint32_t ipv4_of(const Endpoint& endpoint) {
  return ntohl(as<sockaddr_in>(endpoint).sin_addr.s_addr);
}

}  // namespace

bool Endpoint::is_any() const {
  if (family() == AF_INET) return ipv4_of(*this) == INADDR_ANY;
  const in6_addr host = ipv6_of(*this);
  return IN6_IS_ADDR_UNSPECIFIED(&host);
}

bool Endpoint::is_group_or_broadcast() const {
  if (family() == AF_INET) return ipv4_of(*this) >> 28 == 0xE || ipv4_of(*this) == INADDR_BROADCAST;
  return ipv6_of(*this).s6_addr[0] == 0xFF;
}

bool Endpoint::is_link_local() const {
  if (family() == AF_INET) return false;
  const in6_addr host = ipv6_of(*this);
  return IN6_IS_ADDR_LINKLOCAL(&host);
}

bool Endpoint::operator==(const Endpoint& other) const {
  return bytes == other.bytes && std::memcmp(&address, &other.address, bytes) == 0;
}

std::optional<Endpoint> parse_endpoint(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  const in_port_t port = parse_port_number(std::string_view(text).substr(colon + 1));
  if (port == 0) return std::nullopt;
  std::string host = text.substr(0, colon);
  Endpoint endpoint;
  if (host.starts_with('[') && host.ends_with(']')) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = port;
    host = host.substr(1, host.size() - 2);
    if (::inet_pton(AF_INET6, host.c_str(), &address.sin6_addr) != 1) return std::nullopt;
    endpoint.bytes = sizeof address;
    std::memcpy(&endpoint.address, &address, sizeof address);
    return endpoint;
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = port;
  if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) return std::nullopt;
  endpoint.bytes = sizeof address;
  std::memcpy(&endpoint.address, &address, sizeof address);
  return endpoint;
}

std::string to_string(const Endpoint& endpoint) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (endpoint.family() == AF_INET6) {
    const auto address = as<sockaddr_in6>(endpoint);
    inet_ntop(AF_INET6, &address.sin6_addr, text.data(), text.size());
    return fmt::format("[{}]:{}", text.data(), ntohs(address.sin6_port));
  }
  const auto address = as<sockaddr_in>(endpoint);
  inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  return fmt::format("{}:{}", text.data(), ntohs(address.sin_port));
}

}  // namespace penumbra::control
