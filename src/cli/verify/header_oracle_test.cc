// SPDX-License-Identifier: Apache-2.0
#include "cli/verify/header_oracle.h"

#include <gtest/gtest.h>

#include <functional>

#include "cli/verify/test_frames.h"

namespace penumbra::cli::verify {
namespace {

PortInfo port() {
  return {.name = "port0", .mac = {0x020000000001}, .addresses = {}, .ipv6_addresses = {}};
}

std::string inspect_ipv4(const PortInfo& port, Frame frame) {
  return inspect(port, frame, {.ipv4 = true});
}

TEST(HeaderOracle, TakesTheChecksumOfAWellKnownHeader) {
  const Bytes header{0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
                     0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7};
  EXPECT_EQ(header_checksum(header), 0xB861U);
}

TEST(HeaderOracle, FindsNothingWrongWithAGoodPacket) {
  EXPECT_EQ(inspect_ipv4(port(), make_frame(TestPacket{})), "");
}

struct Damage {
  const char* reason;
  std::function<void(Bytes&)> inflict;
  bool mend_checksum = true;
};

std::ostream& operator<<(std::ostream& out, const Damage& damage) {
  return out << damage.reason;
}

class HeaderOracleReasons : public testing::TestWithParam<Damage> {};

TEST_P(HeaderOracleReasons, AreRecognised) {
  Bytes frame = make_frame(TestPacket{});
  GetParam().inflict(frame);
  if (GetParam().mend_checksum) put_checksum(frame);
  EXPECT_EQ(inspect_ipv4(port(), frame), GetParam().reason);
}

INSTANTIATE_TEST_SUITE_P(
    All, HeaderOracleReasons,
    testing::Values(Damage{"runt", [](Bytes& frame) { frame.resize(13); }, false},
                    Damage{"arp", [](Bytes& frame) { put16(frame, 12, 0x0806); }},
                    Damage{"ipv6", [](Bytes& frame) { put16(frame, 12, 0x86DD); }},
                    Damage{"ipv6_link", [](Bytes& frame) { put16(frame, 12, 0x86DD), put16(frame, 38, 0xFEBF); }},
                    Damage{"ipv6_link", [](Bytes& frame) { put16(frame, 12, 0x86DD), put16(frame, 38, 0xFF05); }},
                    Damage{"ipv6_neighbour_discovery",
                           [](Bytes& frame) {
                             put16(frame, 12, 0x86DD), put16(frame, 20, 0x3AFF);
                             frame[54] = 137;
                           }},
                    Damage{"other_ethertype", [](Bytes& frame) { put16(frame, 12, 0x8100); }},
                    Damage{"truncated", [](Bytes& frame) { frame.resize(33); }, false},
                    Damage{"truncated", [](Bytes& frame) { frame.pop_back(); }},
                    Damage{"bad_version", [](Bytes& frame) { frame[14] = 0x65; }},
                    Damage{"bad_header_length", [](Bytes& frame) { frame[14] = 0x44; }},
                    Damage{"bad_total_length", [](Bytes& frame) { put16(frame, 16, 19); }},
                    Damage{"bad_checksum", [](Bytes& frame) { frame[24] ^= 1; }, false},
                    Damage{"broadcast", [](Bytes& frame) { put16(frame, 30, 0xFFFF), put16(frame, 32, 0xFFFF); }},
                    Damage{"multicast", [](Bytes& frame) { frame[30] = 239; }},
                    Damage{"martian_source", [](Bytes& frame) { frame[26] = 0; }},
                    Damage{"martian_source", [](Bytes& frame) { frame[26] = 127; }},
                    Damage{"martian_source", [](Bytes& frame) { frame[26] = 224; }},
                    Damage{"martian_source", [](Bytes& frame) { frame[26] = 255; }},
                    Damage{"martian_destination", [](Bytes& frame) { frame[30] = 0; }},
                    Damage{"martian_destination", [](Bytes& frame) { frame[30] = 127; }},
                    Damage{"martian_destination", [](Bytes& frame) { frame[30] = 240; }},
                    Damage{"link_broadcast", [](Bytes& frame) { frame[0] = 0x01; }},
                    Damage{"options", [](Bytes& frame) { frame[14] = 0x46; }}));

TEST(HeaderOracle, TakesBothFormsOfAZeroChecksum) {
  Bytes frame = make_frame(TestPacket{});
  put16(frame, 18, read16(frame, 24));  // the identification takes the former checksum
  put_checksum(frame);
  ASSERT_EQ(read16(frame, 24), 0U);
  const Bytes routed = routed_contents(frame);
  EXPECT_EQ(inspect_ipv4(port(), frame), "");
  put16(frame, 24, 0xFFFF);
  EXPECT_EQ(inspect_ipv4(port(), frame), "");
  EXPECT_EQ(routed_contents(frame), routed);
  put16(frame, 24, 0xFFFE);
  EXPECT_EQ(inspect_ipv4(port(), frame), "bad_checksum");
}

TEST(HeaderOracle, TakesOffWhatMakesAFrameTooLongForItsLink) {
  Bytes frame = make_frame(TestPacket{.payload_bytes = 100});
  const std::size_t packet_end = frame.size();
  frame.resize(14 + 500);
  EXPECT_EQ(without_excess(frame, 500).size(), frame.size());
  EXPECT_EQ(without_excess(frame, 499).size(), packet_end);
}

TEST(HeaderOracle, LetsOnlyNobodySendToAllFromAMartianAddress) {
  Bytes frame = make_frame(TestPacket{.source = 0, .destination = 0xFFFFFFFF});
  EXPECT_EQ(inspect_ipv4(port(), frame), "broadcast");
  EXPECT_EQ(inspect_ipv4(port(), make_frame(TestPacket{.source = 0, .destination = 0xE0000016})), "multicast");
  EXPECT_EQ(inspect_ipv4(port(), make_frame(TestPacket{.source = 1, .destination = 0xFFFFFFFF})), "martian_source");
  EXPECT_EQ(inspect_ipv4(port(), make_frame(TestPacket{.source = 0x7F000001, .destination = 0xE0000016})),
            "martian_source");
}

TEST(HeaderOracle, KnowsItsOwnStation) {
  PortInfo strict = port();
  strict.promiscuous = false;
  Bytes frame = make_frame(TestPacket{});
  EXPECT_EQ(inspect_ipv4(strict, frame), "wrong_mac");
  frame[5] = 1;
  EXPECT_EQ(inspect_ipv4(strict, frame), "");
}

TEST(HeaderOracle, TakesOneHopOffAndKeepsTheRest) {
  for (unsigned ttl = 2; ttl < 256; ++ttl) {
    const TestPacket packet{.ttl = static_cast<std::uint8_t>(ttl), .mark = 7};
    const Bytes routed = make_routed(packet, {1}, {2});
    EXPECT_EQ(routed_contents(make_frame(packet)), Bytes(routed.begin() + 12, routed.end()));
  }
}

}  // namespace
}  // namespace penumbra::cli::verify
