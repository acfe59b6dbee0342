// SPDX-License-Identifier: Apache-2.0
#include "cli/verify/ipv6_rules.h"

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>

#include "cli/verify/header_oracle.h"
#include "cli/verify/test_frames.h"

namespace penumbra::cli::verify {
namespace {

constexpr std::size_t kSource = 22, kDestination = 38;  // offsets in the frame

PortInfo ipv6_port() {
  return {.name = "port0", .mac = {0x020000000001}, .addresses = {}, .ipv6_addresses = {}};
}
std::string inspect_ipv6(Frame frame) {
  return inspect(ipv6_port(), frame, {.ipv6 = true});
}

/// Writes the eight 16-bit words of an address.
void put_address(Bytes& frame, std::size_t at, std::initializer_list<std::uint32_t> words) {
  for (const std::uint32_t word : words) put16(frame, at, word), at += 2;
}

TEST(Ipv6Rules, FindNothingWrongWithAGoodPacket) {
  EXPECT_EQ(inspect_ipv6(make_frame(TestIpv6Packet{})), "");
}

struct Ipv6Damage {
  const char* reason;
  std::function<void(Bytes&)> inflict;
};

std::ostream& operator<<(std::ostream& out, const Ipv6Damage& damage) {
  return out << damage.reason;
}

class Ipv6RulesReasons : public testing::TestWithParam<Ipv6Damage> {};

TEST_P(Ipv6RulesReasons, AreRecognised) {
  Bytes frame = make_frame(TestIpv6Packet{});
  GetParam().inflict(frame);
  EXPECT_EQ(inspect_ipv6(frame), GetParam().reason);
}

void make_discovery(Bytes& frame, std::uint8_t type, std::uint8_t hop_limit = 255) {
  frame[20] = 58;
  frame[21] = hop_limit;
  frame[54] = type;
}

INSTANTIATE_TEST_SUITE_P(
    All, Ipv6RulesReasons,
    testing::Values(
        Ipv6Damage{"runt", [](Bytes& frame) { frame.resize(13); }},
        Ipv6Damage{"arp", [](Bytes& frame) { put16(frame, 12, 0x0806); }},
        Ipv6Damage{"ipv4", [](Bytes& frame) { put16(frame, 12, 0x0800); }},
        Ipv6Damage{"other_ethertype", [](Bytes& frame) { put16(frame, 12, 0x8100); }},
        Ipv6Damage{"truncated", [](Bytes& frame) { frame.resize(53); }},
        Ipv6Damage{"truncated", [](Bytes& frame) { frame.pop_back(); }},
        Ipv6Damage{"bad_version", [](Bytes& frame) { frame[14] = 0x45; }},
        Ipv6Damage{"bad_payload_length", [](Bytes& frame) { put16(frame, 18, 0), frame[20] = 0; }},
        Ipv6Damage{"", [](Bytes& frame) { put16(frame, 18, 0); }}, Ipv6Damage{"", [](Bytes& frame) { frame[20] = 0; }},
        Ipv6Damage{"martian_source", [](Bytes& frame) { put_address(frame, kSource, {0, 0, 0, 0, 0, 0, 0, 0}); }},
        Ipv6Damage{"martian_source", [](Bytes& frame) { put_address(frame, kSource, {0, 0, 0, 0, 0, 0, 0, 1}); }},
        Ipv6Damage{"martian_source",
                   [](Bytes& frame) { put_address(frame, kSource, {0, 0, 0, 0, 0, 0xFFFF, 0x0A00, 1}); }},
        Ipv6Damage{"martian_source", [](Bytes& frame) { put16(frame, kSource, 0xFF0E); }},
        Ipv6Damage{"", [](Bytes& frame) { put_address(frame, kSource, {0, 0, 0, 0, 0, 0, 0, 2}); }},
        Ipv6Damage{"", [](Bytes& frame) { put_address(frame, kSource, {0, 0, 0, 0, 1, 0xFFFF, 0, 1}); }},
        Ipv6Damage{"martian_destination",
                   [](Bytes& frame) { put_address(frame, kDestination, {0, 0, 0, 0, 0, 0, 0, 0}); }},
        Ipv6Damage{"martian_destination",
                   [](Bytes& frame) { put_address(frame, kDestination, {0, 0, 0, 0, 0, 0, 0, 1}); }},
        Ipv6Damage{"martian_destination",
                   [](Bytes& frame) { put_address(frame, kDestination, {0, 0, 0, 0, 0, 0xFFFF, 0, 0}); }},
        Ipv6Damage{"martian_destination", [](Bytes& frame) { put16(frame, kDestination, 0xFF00); }},
        Ipv6Damage{"martian_destination", [](Bytes& frame) { put16(frame, kDestination, 0xFFF1); }},
        Ipv6Damage{"multicast", [](Bytes& frame) { put16(frame, kDestination, 0xFF02); }},
        Ipv6Damage{"multicast",
                   [](Bytes& frame) {
                     put_address(frame, kSource, {0, 0, 0, 0, 0, 0, 0, 0});
                     put16(frame, kDestination, 0xFF0E);
                   }},
        Ipv6Damage{"martian_destination",
                   [](Bytes& frame) {
                     put_address(frame, kSource, {0, 0, 0, 0, 0, 0, 0, 0});
                     put16(frame, kDestination, 0xFF01);
                   }},
        Ipv6Damage{"neighbour_discovery", [](Bytes& frame) { make_discovery(frame, 133); }},
        Ipv6Damage{"neighbour_discovery",
                   [](Bytes& frame) { make_discovery(frame, 137), put16(frame, kDestination, 0xFF02); }},
        Ipv6Damage{"neighbour_discovery", [](Bytes& frame) { make_discovery(frame, 136), frame[0] = 0x33; }},
        Ipv6Damage{"martian_source", [](Bytes& frame) { make_discovery(frame, 135), put16(frame, kSource, 0xFF02); }},
        Ipv6Damage{"", [](Bytes& frame) { make_discovery(frame, 132); }},
        Ipv6Damage{"", [](Bytes& frame) { make_discovery(frame, 138); }},
        Ipv6Damage{"", [](Bytes& frame) { make_discovery(frame, 135, 254); }},
        Ipv6Damage{"", [](Bytes& frame) { make_discovery(frame, 135), put16(frame, 18, 0); }},
        Ipv6Damage{"link_group", [](Bytes& frame) { frame[0] = 0x33; }},
        Ipv6Damage{"link_group", [](Bytes& frame) { frame[0] = 0x33, put16(frame, kDestination, 0xFE80); }},
        Ipv6Damage{"link_local", [](Bytes& frame) { put16(frame, kDestination, 0xFE80); }},
        Ipv6Damage{"link_local", [](Bytes& frame) { put16(frame, kSource, 0xFEBF); }},
        Ipv6Damage{"", [](Bytes& frame) { put16(frame, kDestination, 0xFEC0); }}));

TEST(Ipv6Rules, LeaveAFrameToTheFunctionOfItsFamily) {
  const Bytes ipv4 = make_frame(TestPacket{.ttl = 0}), ipv6 = make_frame(TestIpv6Packet{});
  EXPECT_EQ(inspect(ipv6_port(), ipv4, {.ipv6 = true}), "ipv4");
  EXPECT_EQ(inspect(ipv6_port(), ipv6, {.ipv4 = true}), "ipv6");
  for (const Bytes& frame : {ipv4, ipv6}) EXPECT_EQ(inspect(ipv6_port(), frame, {.ipv4 = true, .ipv6 = true}), "");
}

TEST(Ipv6Rules, TakeOneHopOffAndKeepTheRest) {
  for (unsigned hop_limit = 2; hop_limit < 256; ++hop_limit) {
    const TestIpv6Packet packet{.hop_limit = static_cast<std::uint8_t>(hop_limit), .mark = 7, .label = 0xFFFFF};
    const Bytes routed = make_routed(packet, {1}, {2});
    EXPECT_EQ(routed_contents(make_frame(packet)), Bytes(routed.begin() + 12, routed.end()));
  }
}

TEST(Ipv6Rules, KnowWhatIsOneFlow) {
  const auto key = [](const TestIpv6Packet& packet) { return flow_key(make_frame(packet)); };
  EXPECT_EQ(key({}), key({.hop_limit = 3, .mark = 4}));
  EXPECT_NE(key({}), key({.source_port = 3}));
  EXPECT_NE(key({}), key({.next_header = 6}));
  EXPECT_EQ(key({.source_port = 1, .next_header = 58}), key({.source_port = 2, .next_header = 58}));  // no ports
  EXPECT_NE(key({.label = 1}).of_way(), key({.label = 2}).of_way());
  EXPECT_EQ(key({.source_port = 1, .label = 1}).of_way(), key({.source_port = 2, .label = 1}).of_way());
  EXPECT_EQ(key({.label = 1}).of_way(), key({.label = 1, .next_header = 44}).of_way());
  const FlowKey short_of_ports = key({.source_port = 9});
  Bytes frame = make_frame(TestIpv6Packet{.source_port = 9});
  put16(frame, 18, 3);
  EXPECT_NE(flow_key(frame), short_of_ports);
  EXPECT_EQ(flow_key(frame).ports, 0U);
}

TEST(Ipv6Rules, FindAFragmentsProtocolBehindItsHeader) {
  Bytes frame = make_frame(TestIpv6Packet{.next_header = 44});
  frame[54] = 17;
  const FlowKey fragment = flow_key(frame);
  EXPECT_EQ(fragment.protocol, 17);
  EXPECT_EQ(fragment.ports, 0U);
  put16(frame, 56, 0x1230);  // the offset: a further fragment of the same datagram
  EXPECT_EQ(flow_key(frame), fragment);
}

TEST(Ipv6Rules, FindPortsAfterExtensionHeaders) {
  for (const std::uint8_t protocol : {6, 50}) {
    const Bytes plain = make_frame(TestIpv6Packet{.source_port = 9, .next_header = protocol});
    const auto with_header = [&](std::uint8_t kind, std::uint8_t fragment) {
      Bytes frame = plain;
      frame.insert(frame.begin() + 54, {protocol, 0, 0, fragment, 0, 0, 0, 0});
      frame[20] = kind;
      put16(frame, 18, read16(plain, 18) + 8);
      return flow_key(frame);
    };
    EXPECT_NE(flow_key(plain).ports, 0U);
    EXPECT_EQ(with_header(60, 0).ports, flow_key(plain).ports);
    EXPECT_EQ(with_header(44, 0).ports, flow_key(plain).ports) << "RFC 6946";
    EXPECT_EQ(with_header(44, 1).ports, 0U) << "a fragment";
  }
}

}  // namespace
}  // namespace penumbra::cli::verify
