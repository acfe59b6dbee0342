// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace penumbra::ids {

/// Turns frames of a capture's link type into Ethernet frames.
class LinkLayer {
 public:
  enum class Kind : std::uint8_t {
    ethernet,
    raw,
    linux_cooked,
    linux_cooked_2,
    loopback_host,
    loopback_network,
    ppp,
    pppoe,
    cisco_hdlc
  };
  explicit LinkLayer(Kind kind) : kind_(kind) {}
  /// `link_type` is a DLT_ number of libpcap. Returns nothing for a link type that is not known.
  static std::optional<LinkLayer> find(int link_type);

  /// Returns the frame as Ethernet, valid until the next call. Returns an empty frame if it is too short or carries
  /// neither IPv4 nor IPv6.
  std::span<const std::uint8_t> to_ethernet(std::span<const std::uint8_t> frame);

  static std::string known();  ///< The names of the link types, for messages.

 private:
  std::span<const std::uint8_t> with_header(std::span<const std::uint8_t> network, std::uint16_t ethertype);
  std::span<const std::uint8_t> of_ip(std::span<const std::uint8_t> packet);
  std::span<const std::uint8_t> of_ppp(std::span<const std::uint8_t> frame);
  std::span<const std::uint8_t> of_pppoe(std::span<const std::uint8_t> frame);
  std::span<const std::uint8_t> of_mpls(std::span<const std::uint8_t> frame);
  std::span<const std::uint8_t> of_nsh(std::span<const std::uint8_t> frame);
  std::span<const std::uint8_t> of_ethernet(std::span<const std::uint8_t> frame);

  Kind kind_;
  std::vector<std::uint8_t> made_;
};

}  // namespace penumbra::ids
