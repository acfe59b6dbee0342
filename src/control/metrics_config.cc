// SPDX-License-Identifier: Apache-2.0
#include "control/metrics_config.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace penumbra::control {
namespace {

/// From 1 to 65535, in network order; 0 for anything else.
in_port_t parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
  return failure == std::errc{} && rest == text.data() + text.size() ? htons(port) : in_port_t{0};
}

/// The address with its port; nothing for anything else.
std::optional<sockaddr_in> parse_listen(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = parse_port(std::string_view(text).substr(colon + 1));
  const bool known = ::inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) == 1;
  return known && address.sin_port != 0 ? std::optional(address) : std::nullopt;
}

}  // namespace

MetricsConfig read_metrics(const ConfigNode& node) {
  MetricsConfig config;
  if (!node.present()) return config;
  node.require_map({"listen"});
  const ConfigNode listen = node.at("listen");
  const std::string text = listen.text();
  const auto address = parse_listen(text);
  if (!address) {
    throw listen.error("expected an IPv4 address of this machine with a TCP port (A.B.C.D:PORT), found " + quote(text));
  }
  config.listen = text;
  config.address = *address;
  config.location = listen.location();
  return config;
}

}  // namespace penumbra::control
