// SPDX-License-Identifier: Apache-2.0
//
// Provides the tests of this folder with the ports of a small router and packets for it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "functions/forwarding/testing.h"
#include "functions/ipv4/ipv4.h"
#include "functions/ipv4/oracle.h"

namespace penumbra::ipv4::testing_support {

using forwarding::testing_support::Packet;
using forwarding::testing_support::reason_of;
using forwarding::testing_support::Runner;

using Words = forwarding::testing_support::Words<Ipv4>;
inline Ipv4Address ip(const std::string& text) {
  return Words::ip(text);
}
inline Ipv4Prefix net(const std::string& text) {
  return Words::net(text);
}
inline Words::Target via(const std::string& gateway, const std::string& port) {
  return Words::via(gateway, port);
}
inline Words::Target dev(const std::string& port) {
  return Words::dev(port);
}
inline const control::RouteTarget kBlackhole{.kind = control::RouteTarget::Kind::blackhole, .next_hops = {}};
inline const control::RouteTarget kUnreachable{.kind = control::RouteTarget::Kind::unreachable, .next_hops = {}};

/// Returns the ports wan 192.0.2.1/24, lan 10.0.0.1/16 and 10.9.0.1/31, dmz 172.16.0.1/30 with a short MTU, and bare
/// without addresses.
inline std::vector<PortInfo> router_ports() {
  auto ports = forwarding::testing_support::ports_without_addresses(576);
  ports[0].addresses = {{ip("192.0.2.1"), net("192.0.2.0/24")}};
  ports[1].addresses = {{ip("10.0.0.1"), net("10.0.0.0/16")}, {ip("10.9.0.1"), net("10.9.0.0/31")}};
  ports[2].addresses = {{ip("172.16.0.1"), net("172.16.0.0/30")}};
  return ports;
}

/// Returns a frame with a UDP packet and a correct checksum to the port with the MAC address 02:00:00:00:00:01.
inline oracle::Bytes udp_frame(Ipv4Address source, Ipv4Address destination, std::uint8_t ttl, std::size_t total_bytes,
                               std::uint16_t source_port = 1000) {
  oracle::Bytes frame{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 9, 9, 8, 0, 0x45, 0};
  function_testing::append(frame, total_bytes, 2);
  function_testing::append(frame, 0, 4);
  function_testing::append(frame, ttl, 1);
  function_testing::append(frame, 17, 1);
  function_testing::append(frame, 0, 2);
  function_testing::append(frame, source.value, 4);
  function_testing::append(frame, destination.value, 4);
  function_testing::append(frame, source_port, 2);
  function_testing::append(frame, 53, 2);
  frame.resize(14 + total_bytes, 0x5A);
  oracle::fix_checksum(frame);
  return frame;
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
    const bool link_local = oracle::word(in, 26) == 169 * 256 + 254 || oracle::word(in, 30) == 169 * 256 + 254;
    return network.judge({oracle::address(in, 30)}, in[22], oracle::word(in, 16), link_local);
  }
};
using RouterUnderTest = forwarding::testing_support::RouterUnderTest<Ipv4Function, Words, Judge>;

}  // namespace penumbra::ipv4::testing_support
