// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/detect/tunnel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "functions/ids/detect/link_layer.h"
#include "functions/ids/detect/packet_view.h"
#include "functions/ids/detect/testing.h"
#include "packet/parse.h"

namespace penumbra::ids {
namespace {

using namespace std::string_literals;

/// Returns the IP packet of the frame that a link type's frame becomes, or "none".
std::string packet_of(int link_type, const std::string& header, const std::string& packet) {
  LinkLayer link = LinkLayer::find(link_type).value();
  const std::string frame = header + packet;
  const auto made = link.to_ethernet({reinterpret_cast<const std::uint8_t*>(frame.data()), frame.size()});
  if (made.size() < 14) return "none";
  return {made.begin() + 14, made.end()};
}

TEST(LinkLayer, MakesEthernetOfEachLinkType) {
  const std::string ip = "\x45 an IPv4 packet", ip6 = "\x60 an IPv6 packet";
  const std::string mac(12, 'm');
  EXPECT_EQ(packet_of(1, mac + "\x08\x00"s, ip), ip);
  EXPECT_EQ(packet_of(1, mac + "\x88\x64\x11\x00\x00\x01\x00\x13\x00\x21"s, ip), ip);      // PPPoE
  EXPECT_EQ(packet_of(1, mac + "\x88\x64\x11\x00\x00\x01\x00\x06\xC0\x21"s, ip), "none");  // LCP
  EXPECT_EQ(packet_of(12, "", ip6), ip6);
  EXPECT_EQ(packet_of(12, "", "\x35x"), "none");
  EXPECT_EQ(packet_of(113, std::string(14, 's') + "\x08\x00"s, ip), ip);
  EXPECT_EQ(packet_of(113, std::string(10, 's'), ""), "none");
  EXPECT_EQ(packet_of(276, "\x86\xDD"s + std::string(18, 's'), ip6), ip6);
  EXPECT_EQ(packet_of(0, "\x02\x00\x00\x00"s, ip), ip);
  EXPECT_EQ(packet_of(108, "\x00\x00\x00\x1C"s, ip6), ip6);
  EXPECT_EQ(packet_of(9, "\xFF\x03\x00\x21"s, ip), ip);
  EXPECT_EQ(packet_of(9, "\x57"s, ip6), ip6);                // address, control and half of the protocol are left out
  EXPECT_EQ(packet_of(104, "\x0F\x00\x86\xDD"s, ip6), ip6);  // Cisco's HDLC
  EXPECT_EQ(packet_of(104, "\x0F\x00\x08"s, ""), "none");
  EXPECT_EQ(packet_of(51, "\x11\x00\x00\x01\x00\x14\x00\x21"s, ip), ip);
  EXPECT_EQ(packet_of(1, mac + "\x88\x47\x00\x01\x00\x40\x00\x02\x01\x40"s, ip), ip);  // two labels of MPLS
  EXPECT_EQ(packet_of(113, std::string(14, 's') + "\x88\x47\x00\x02\x01\x40"s, ip6), ip6);
  EXPECT_EQ(packet_of(1, mac + "\x88\x47\x00\x02\x01\x40\x00\x00\x00\x00"s + mac + "\x08\x00"s, ip), ip);
  EXPECT_EQ(packet_of(1, mac + "\x88\x47\x00\x02\x00\x40"s, ""), "none");
  EXPECT_EQ(packet_of(1, mac + "\x89\x4F\x0F\xC2\x02\x01\x00\x00\x01\xFF"s, ip), ip);  // NSH
  EXPECT_EQ(packet_of(1, mac + "\x89\x4F\x0F\xC2\x02\x03\x00\x00\x01\xFF"s + mac + "\x86\xDD"s, ip6), ip6);
  EXPECT_EQ(packet_of(1, mac + "\x89\x4F\x0F\xFF\x02\x01\x00\x00\x01\xFF"s, ip), "none");
  EXPECT_FALSE(LinkLayer::find(105).has_value());  // IEEE 802.11
}

/// Returns the IP packet that a packet of a tunnel carries, or "none".
std::string carried_by(const Bytes& frame, const TunnelSettings& settings = {}) {
  const PacketView packet(frame, parse_headers(frame.data(), frame.size(), frame.size()));
  EXPECT_TRUE(packet.is_readable());
  const auto found = tunnel_payload(packet, frame, settings);
  if (!found) return "none";
  LinkLayer link(found->kind);
  const auto made = link.to_ethernet(found->frame);
  if (made.size() < 14) return "none";
  return {made.begin() + 14, made.end()};
}
/// Returns what an IP packet with this protocol carries. A packet begins with the ports of TCP or UDP.
std::string carried(std::uint8_t protocol, const std::string& payload) {
  Bytes frame = Packet{.protocol = ip_protocol::kIcmp, .payload = payload.substr(8)}.frame();
  frame[14 + 9] = protocol;
  std::copy_n(payload.begin(), 8, frame.begin() + 34);
  return carried_by(frame);
}
std::string carried_over_udp(std::uint16_t port, const std::string& payload) {
  return carried_by(Packet{.destination_port = port, .payload = payload}.frame());
}

const std::string kIp = "\x45 an IPv4 packet", kEthernet = std::string(12, 'm') + "\x08\x00"s;

TEST(Tunnel, FindsIpInIp) {
  EXPECT_EQ(carried(4, kIp), kIp);
  EXPECT_EQ(carried(41, "\x60 an IPv6 packet"), "\x60 an IPv6 packet");
  EXPECT_EQ(carried(50, kIp), "none");
}

TEST(Tunnel, SkipsTheOptionsOfGre) {
  EXPECT_EQ(carried(47, "\x00\x00\x08\x00"s + kIp), kIp);
  EXPECT_EQ(carried(47, "\xB0\x00\x08\x00 sum key seq"s + kIp), kIp);
  EXPECT_EQ(carried(47, "\x40\x00\x08\x00 sum\x00\x00\x00\x02rr\x00\x00\x00\x00"s + kIp), kIp);
  EXPECT_EQ(carried(47, "\x40\x00\x08\x00 sum\x00\x00\x00\xFFrr"s + kIp), "none");
  EXPECT_EQ(carried(47, "\x00\x00\x65\x58"s + kEthernet + kIp), kIp);
  EXPECT_EQ(carried(47, "\x00\x00\x88\xBE"s + kEthernet + kIp), kIp);
  EXPECT_EQ(carried(47, "\x10\x00\x88\xBE seq erspan "s + kEthernet + kIp), kIp);
  EXPECT_EQ(carried(47, "\x30\x81\x88\x0B key seq ack\x00\x21"s + kIp), kIp);  // PPTP
  EXPECT_EQ(carried(47, "\x00\x01\x88\x0B\x00\x21"s + kIp), "none");
  EXPECT_EQ(carried(47, "\x00\x02\x08\x00"s + kIp), "none");
  EXPECT_EQ(carried(47, "\x00\x00\x08\x06"s + kIp), "none");
}

TEST(Tunnel, KnowsTunnelsOverUdpByTheirPorts) {
  EXPECT_EQ(carried_over_udp(4789, "\x08\x00\x00\x00\x00\x00\x07\x00"s + kEthernet + kIp), kIp);
  EXPECT_EQ(carried_over_udp(4789, "\x00\x00\x00\x00\x00\x00\x07\x00"s + kEthernet + kIp), "none");
  EXPECT_EQ(carried_over_udp(4790, "\x08\x00\x00\x00\x00\x00\x07\x00"s + kEthernet + kIp), "none");
  EXPECT_EQ(carried_over_udp(6081, "\x01\x00\x65\x58\x00\x00\x07\x00 opt"s + kEthernet + kIp), kIp);
  EXPECT_EQ(carried_over_udp(6081, "\x3F\x00\x65\x58\x00\x00\x07\x00 opt"s + kEthernet + kIp), "none");
  const std::string ip6 = "\x60\x00\x00\x00\x00\x02\x3B\x40"s + std::string(32, 'a') + "pp";
  EXPECT_EQ(carried_over_udp(3544, ip6), ip6);
  EXPECT_EQ(carried_over_udp(3544, "\x00\x00origin"s + ip6), ip6);
  EXPECT_EQ(carried_over_udp(3544, ip6 + "p"), "none");
}

TEST(Tunnel, FollowsTheSettings) {
  const Bytes vxlan =
      Packet{.destination_port = 8472, .payload = "\x08\x00\x00\x00\x00\x00\x07\x00"s + kEthernet + kIp}.frame();
  EXPECT_EQ(carried_by(vxlan), "none");
  EXPECT_EQ(carried_by(vxlan, {.vxlan = TunnelSettings::port(8472)}), kIp);
  Bytes inner = Packet{.protocol = ip_protocol::kIcmp, .payload = kIp.substr(8)}.frame();
  inner[14 + 9] = 4;
  std::copy_n(kIp.begin(), 8, inner.begin() + 34);
  EXPECT_EQ(carried_by(inner), kIp);
  EXPECT_EQ(carried_by(inner, {.ip_in_ip = false}), "none");
}

TEST(Tunnel, SaysWhichKindItIs) {
  const auto kind_of = [](std::uint8_t protocol, const std::string& payload) {
    Bytes frame = Packet{.protocol = ip_protocol::kIcmp, .payload = payload.substr(8)}.frame();
    frame[14 + 9] = protocol;
    std::copy_n(payload.begin(), 8, frame.begin() + 34);
    const PacketView packet(frame, parse_headers(frame.data(), frame.size(), frame.size()));
    return to_string(tunnel_payload(packet, frame).value().source);
  };
  EXPECT_EQ(kind_of(4, kIp), "ipv4 tunnel");
  EXPECT_EQ(kind_of(47, "\x00\x00\x08\x00"s + kIp), "gre tunnel");
}

}  // namespace
}  // namespace penumbra::ids
