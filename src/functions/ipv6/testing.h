// SPDX-License-Identifier: Apache-2.0
//
// Provides the tests of this folder with the ports of a small router and packets for it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "functions/forwarding/testing.h"
#include "functions/ipv6/ipv6.h"
#include "functions/ipv6/oracle.h"

namespace penumbra::ipv6::testing_support {

using forwarding::testing_support::Packet;
using forwarding::testing_support::reason_of;
using forwarding::testing_support::Runner;

using NextHop = control::NextHopOf<Ipv6>;
using RouteTarget = control::RouteTargetOf<Ipv6>;

using Words = forwarding::testing_support::Words<Ipv6>;
inline Ipv6Address ip(const std::string& text) {
  return Words::ip(text);
}
inline Ipv6Prefix net(const std::string& text) {
  return Words::net(text);
}
inline Words::Target via(const std::string& gateway, const std::string& port) {
  return Words::via(gateway, port);
}
inline Words::Target dev(const std::string& port) {
  return Words::dev(port);
}
inline const RouteTarget kBlackhole{.kind = control::RouteKind::blackhole, .next_hops = {}};
inline const RouteTarget kUnreachable{.kind = control::RouteKind::unreachable, .next_hops = {}};

/// Returns the ports wan 2001:db8:1::1/64, lan 2001:db8:2::1/64 and 2001:db8:3::/127, dmz 2001:db8:4::1/126 with a
/// short MTU, and bare without addresses.
inline std::vector<PortInfo> router_ports() {
  auto ports = forwarding::testing_support::ports_without_addresses(1280);
  ports[0].ipv6_addresses = {{ip("2001:db8:1::1"), net("2001:db8:1::/64")}};
  ports[1].ipv6_addresses = {{ip("2001:db8:2::1"), net("2001:db8:2::/64")},
                             {ip("2001:db8:3::"), net("2001:db8:3::/127")}};
  ports[2].ipv6_addresses = {{ip("2001:db8:4::1"), net("2001:db8:4::/126")}};
  return ports;
}

/// Returns a frame with a packet to the port with the MAC address 02:00:00:00:00:01.
inline oracle::Bytes frame_of(Ipv6Address source, Ipv6Address destination, std::uint8_t next_header,
                              std::uint8_t hop_limit, const oracle::Bytes& payload, std::uint32_t flow_label = 0) {
  oracle::Bytes frame{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 9, 9, 0x86, 0xDD};
  function_testing::append(frame, 6U << 28 | flow_label, 4);
  function_testing::append(frame, payload.size(), 2);
  function_testing::append(frame, next_header, 1);
  function_testing::append(frame, hop_limit, 1);
  for (const Ipv6Address address : {source, destination}) {
    function_testing::append(frame, address.high, 8);
    function_testing::append(frame, address.low, 8);
  }
  frame.insert(frame.end(), payload.begin(), payload.end());
  return frame;
}

/// Returns a frame with a UDP packet. `payload_bytes` is the size of the IPv6 payload, at least 4.
inline oracle::Bytes udp_frame(Ipv6Address source, Ipv6Address destination, std::uint8_t hop_limit,
                               std::size_t payload_bytes, std::uint16_t source_port = 1000,
                               std::uint32_t flow_label = 0) {
  oracle::Bytes payload{static_cast<std::uint8_t>(source_port >> 8), static_cast<std::uint8_t>(source_port), 0, 53};
  payload.resize(payload_bytes, 0x5A);
  return frame_of(source, destination, 17, hop_limit, payload, flow_label);
}

struct Judge {
  using Network = oracle::Network;
  static auto objection(const oracle::Bytes& frame, std::uint64_t port_mac, bool promiscuous) {
    return oracle::objection(frame, port_mac, promiscuous);
  }
  static auto forwarded(const oracle::Bytes& frame, std::uint64_t neighbour, std::uint64_t own, std::size_t mtu) {
    return oracle::forwarded(frame, neighbour, own, mtu);
  }
  static auto judge(const Network& network, const oracle::Bytes& in) {
    return network.judge(oracle::address(in, 38), in[21], 40 + oracle::word(in, 18));
  }
};
using RouterUnderTest = forwarding::testing_support::RouterUnderTest<Ipv6Function, Words, Judge>;

}  // namespace penumbra::ipv6::testing_support
