// SPDX-License-Identifier: Apache-2.0
//
// The rules of RFC 1812 and docs/functions/ipv4.md for a packet, without optimisation. All functions except inspect()
// need a packet that inspect() accepts. `packet` begins with the IP header and ends with the frame.
#pragma once

#include <string>

#include "cli/verify/flow_key.h"
#include "cli/verify/frame.h"
#include "penumbra/ip.h"

namespace penumbra::cli::verify {

struct Ipv4Rules : Ipv4 {
  static constexpr const char *kHopsUsedUp = "ttl_expired", *kTooLong = "fragmentation_needed";

  /// Returns the reason why a packet is not routed; empty if it is routed. `to_group` is true if the frame has a group
  /// address.
  static std::string inspect(Frame packet, bool to_group);
  static Ipv4Address destination(Frame packet) { return {read32(packet, 16)}; }
  static unsigned hops_left(Frame packet) { return packet[8]; }
  /// Returns true if the source or the destination is link-local (RFC 3927).
  static bool is_link_local(Frame packet) { return read16(packet, 12) == 0xA9FE || read16(packet, 16) == 0xA9FE; }
  /// Returns the total length of the packet, header included.
  static unsigned bytes(Frame packet) { return read16(packet, 2); }
  static FlowKey flow_key(Frame packet);
  /// Returns the reason why an address of a connected network is not a host; empty if it may be a host.
  static std::string edge(Ipv4Prefix network, Ipv4Address address);
  /// Decrements the TTL and updates the checksum.
  static void take_a_hop_off(std::span<std::uint8_t> packet);
};

/// Returns the Internet checksum (RFC 1071) of an IPv4 header, with 0 for its checksum field.
unsigned header_checksum(Frame header);

}  // namespace penumbra::cli::verify
