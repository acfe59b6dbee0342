// SPDX-License-Identifier: Apache-2.0
//
// The rules of RFC 8200, RFC 4291 and docs/functions/ipv6.md for a packet, without optimisation. The members are those
// of Ipv4Rules.
#pragma once

#include <string>

#include "cli/verify/flow_key.h"
#include "cli/verify/frame.h"
#include "penumbra/ip.h"

namespace penumbra::cli::verify {

struct Ipv6Rules : Ipv6 {
  static constexpr const char *kHopsUsedUp = "hop_limit_exceeded", *kTooLong = "packet_too_big";

  static std::string inspect(Frame packet, bool to_group);
  static Ipv6Address destination(Frame packet);
  static unsigned hops_left(Frame packet) { return packet[7]; }
  /// inspect() already rejects link-local packets.
  static bool is_link_local(Frame /*packet*/) { return false; }
  static unsigned bytes(Frame packet) { return 40 + read16(packet, 4); }
  static FlowKey flow_key(Frame packet);
  /// The first address of a network belongs to all its routers (RFC 4291, 2.6.1), except on a point-to-point link (RFC
  /// 6164).
  static std::string edge(Ipv6Prefix network, Ipv6Address address);
  static void take_a_hop_off(std::span<std::uint8_t> packet) { packet[7] -= 1; }
};

/// Returns the reason why an IPv6 packet is punted in a pipeline that does not forward IPv6. Only its ethertype is
/// known to be right.
std::string punted_ipv6(Frame packet);

}  // namespace penumbra::cli::verify
