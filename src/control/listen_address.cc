// SPDX-License-Identifier: Apache-2.0
#include "control/listen_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

#include "penumbra/errors.h"

namespace penumbra::control {
namespace {

/// From 1 to 65535, in network order; 0 for anything else.
in_port_t parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
  return failure == std::errc{} && rest == text.data() + text.size() ? htons(port) : in_port_t{0};
}

/// The address with its port; nothing for anything else.
std::optional<sockaddr_in> parse_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = parse_port(std::string_view(text).substr(colon + 1));
  const bool known = ::inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) == 1;
  return known && address.sin_port != 0 ? std::optional(address) : std::nullopt;
}

}  // namespace

ListenAddress read_listen(const ConfigNode& node) {
  const std::string text = node.text();
  const auto address = parse_address(text);
  if (!address) {
    throw node.error("expected an IPv4 address of this machine with a TCP port (A.B.C.D:PORT), found " + quote(text));
  }
  return {.text = text, .address = *address, .location = node.location()};
}

FileDescriptor listen_at(const ListenAddress& at, std::string_view who, int type) {
  FileDescriptor socket(::socket(AF_INET, type, 0));
  const int on = 1;
  const bool listens = socket && ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                       ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at.address), sizeof at.address) == 0 &&
                       ::listen(socket.get(), SOMAXCONN) == 0;
  if (listens) return socket;
  throw InputError(at.location, fmt::format("{}: cannot listen on {}: {}", who, at.text, std::strerror(errno)));
}

}  // namespace penumbra::control
