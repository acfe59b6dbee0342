// SPDX-License-Identifier: Apache-2.0
#include "functions/ipv6/outcome.h"

#include "functions/forwarding/reasons.h"

namespace penumbra::ipv6 {
namespace {

forwarding::Reasons all_reasons() {
  constexpr auto kDrop = Verdict::Kind::drop;
  constexpr auto kPunt = Verdict::Kind::punt;
  return forwarding::with_looked_up(
      {
          {"runt", kDrop, "frame shorter than an Ethernet header"},
          {"wrong_mac", kDrop, "unicast frame to another station's MAC address"},
          {"arp", kPunt, "ARP"},
          {"ipv4", kPunt, "IPv4, where no later function takes it"},
          {"other_ethertype", kPunt, "neither IPv6, IPv4 nor ARP (VLAN tags and 802.3 frames too)"},
          {"truncated", kDrop, "frame shorter than its IPv6 header or payload length says"},
          {"bad_version", kDrop, "IP version is not 6"},
          {"bad_payload_length", kDrop, "payload length 0 before a hop-by-hop header (a jumbogram, RFC 2675)"},
          {"martian_source", kDrop, "source that no packet may have (::, ::1, ff00::/8, ::ffff:0:0/96)"},
          {"martian_destination", kDrop,
           "destination that no packet may have (::, ::1, ::ffff:0:0/96, groups of scope 0 and 1)"},
          {"neighbour_discovery", kPunt, "neighbour discovery (RFC 4861)"},
          {"multicast", kPunt, "to ff00::/8"},
          {"link_local", kPunt, "from or to fe80::/10"},
          {"link_group", kDrop, "unicast packet in a broadcast or multicast frame"},
      },
      "hop_limit_exceeded", "hop limit", "packet_too_big");
}

}  // namespace

const std::vector<Reason>& outcome_reasons(bool host_has_routes) {
  static const forwarding::Reasons kReasons = all_reasons();
  return host_has_routes ? kReasons.beside_host : kReasons.alone;
}

}  // namespace penumbra::ipv6
