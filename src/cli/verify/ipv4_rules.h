// SPDX-License-Identifier: Apache-2.0
//
// What RFC 1812 and docs/functions/ipv4.md say of a packet, written out slowly. Of a packet that was found good, all
// may be asked; `packet` begins with its header and goes on to the end of its frame.
#pragma once

#include <string>

#include "cli/verify/flow_key.h"
#include "cli/verify/frame.h"
#include "penumbra/ip.h"

namespace penumbra::cli::verify {

struct Ipv4Rules : Ipv4 {
  static constexpr const char *kHopsUsedUp = "ttl_expired", *kTooLong = "fragmentation_needed";

  /// The reason why a packet is not routed at all, empty if it is. `to_group`: its frame was not for one station.
  static std::string inspect(Frame packet, bool to_group);
  static Ipv4Address destination(Frame packet) { return {read32(packet, 16)}; }
  static unsigned hops_left(Frame packet) { return packet[8]; }
  /// True if the source or the destination is link-local (RFC 3927).
  static bool is_link_local(Frame packet) { return read16(packet, 12) == 0xA9FE || read16(packet, 16) == 0xA9FE; }
  /// Of the packet, its header with it, as that says.
  static unsigned bytes(Frame packet) { return read16(packet, 2); }
  static FlowKey flow_key(Frame packet);
  /// The reason why a packet to this address of a connected network is for no host there; empty if it is for one.
  static std::string edge(Ipv4Prefix network, Ipv4Address address);
  /// As it must leave: one hop less to live, the checksum computed anew.
  static void take_a_hop_off(std::span<std::uint8_t> packet);
};

/// The Internet checksum (RFC 1071) of an IPv4 header whose checksum field counts as 0.
unsigned header_checksum(Frame header);

}  // namespace penumbra::cli::verify
