// SPDX-License-Identifier: Apache-2.0
#include "functions/ipv4/outcome.h"

#include "functions/forwarding/reasons.h"

namespace penumbra::ipv4 {
namespace {

forwarding::Reasons all_reasons() {
  constexpr auto kDrop = Verdict::Kind::drop;
  constexpr auto kPunt = Verdict::Kind::punt;
  return forwarding::with_looked_up(
      {
          {"runt", kDrop, "frame shorter than an Ethernet header"},
          {"wrong_mac", kDrop, "unicast frame to another station's MAC address"},
          {"arp", kPunt, "ARP"},
          {"ipv6", kPunt, "IPv6 to a global address"},
          {"ipv6_neighbour_discovery", kPunt, "IPv6 neighbour discovery (RFC 4861)"},
          {"ipv6_link", kPunt, "other IPv6 to a link-local address or a group: routing protocols, for instance"},
          {"other_ethertype", kPunt, "neither IPv4, IPv6 nor ARP (VLAN tags and 802.3 frames too)"},
          {"truncated", kDrop, "frame shorter than its IPv4 header or total length says"},
          {"bad_version", kDrop, "IP version is not 4"},
          {"bad_header_length", kDrop, "header length under 20 bytes"},
          {"bad_total_length", kDrop, "total length shorter than the header"},
          {"bad_checksum", kDrop, "wrong header checksum"},
          {"broadcast", kPunt, "to 255.255.255.255 or a connected network's broadcast address"},
          {"multicast", kPunt, "to 224.0.0.0/4"},
          {"martian_source", kDrop, "source that no packet may have (0/8, 127/8, 224/4, 240/4)"},
          {"martian_destination", kDrop, "destination that no packet may have (0/8, 127/8, 240/4)"},
          {"link_broadcast", kDrop, "unicast packet in a broadcast or multicast frame"},
          {"options", kPunt, "header with options"},
          {"link_local", kDrop, "from or to 169.254.0.0/16, which no router forwards (link_local: forward does)"},
      },
      "ttl_expired", "time to live", "fragmentation_needed");
}

}  // namespace

const std::vector<Reason>& outcome_reasons(bool host_has_routes) {
  static const forwarding::Reasons kReasons = all_reasons();
  return host_has_routes ? kReasons.beside_host : kReasons.alone;
}

}  // namespace penumbra::ipv4
