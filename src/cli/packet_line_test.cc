// SPDX-License-Identifier: Apache-2.0
#include "cli/packet_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "io/capture_writer.h"
#include "packet/testing.h"
#include "runtime/frame_words.h"

namespace penumbra::cli {
namespace {

using testing::EndsWith;
using testing::MatchesRegex;

std::string line(const std::vector<std::string>& words) {
  const auto frame = runtime::build_frame(words, MacAddress{0x020000000001});
  return packet_line(frame, frame.size());
}

TEST(PacketLine, SaysWhatTcpdumpSays) {
  EXPECT_EQ(line({"src", "10.0.0.1", "dst", "192.0.2.9", "proto", "tcp", "sport", "1024", "dport", "80", "flags", "SA",
                  "length", "50"}),
            "IP 10.0.0.1.1024 > 192.0.2.9.80: TCP [S.], length 10");
  EXPECT_EQ(line({"src", "10.0.0.1", "dst", "192.0.2.9", "dport", "53", "vlan", "5"}),
            "vlan 5, IP 10.0.0.1.0 > 192.0.2.9.53: UDP, length 0");
  EXPECT_EQ(line({"src", "10.0.0.1", "dst", "192.0.2.9", "proto", "icmp"}),
            "IP 10.0.0.1 > 192.0.2.9: ICMP type 8 code 0, length 8");
  EXPECT_EQ(line({"src", "10.0.0.1", "dst", "192.0.2.9", "offset", "1480", "length", "520"}),
            "IP 10.0.0.1 > 192.0.2.9: protocol 17, fragment at 1480, length 500");
  EXPECT_EQ(line({"src", "2001:db8::1", "dst", "2001:db8::2", "proto", "tcp", "dport", "443"}),
            "IP6 2001:db8::1.0 > 2001:db8::2.443: TCP [none], length 0");
  EXPECT_EQ(line({"ethertype", "0x88cc"}), "02:00:00:00:00:fe > 02:00:00:00:00:01, ethertype 0x88cc, length 60");
  EXPECT_EQ(line({"ethertype", "0x0800"}), "IP, malformed header");
  EXPECT_EQ(line({"ethertype", "0x0806"}), "ARP, reply 0.0.0.0 is-at 00:00:00:00:00:00");
}

/// Returns the line of the first `bytes` bytes of a frame.
std::string cut_line(const std::vector<std::string>& words, std::size_t bytes) {
  auto frame = runtime::build_frame(words, MacAddress{0x020000000001});
  const std::size_t whole = frame.size();
  frame.resize(bytes);
  return packet_line(frame, whole);
}

TEST(PacketLine, SaysThatTheCaptureCutThePacketAndNotThatThePacketIsWrong) {
  const std::vector<std::string> tcp{"src",  "10.0.0.1", "dst", "192.0.2.9", "proto", "tcp",    "sport",
                                     "1024", "dport",    "80",  "flags",     "S",     "length", "100"};
  EXPECT_EQ(cut_line(tcp, 5), "[cut at 5], length 114");
  EXPECT_EQ(cut_line(tcp, 14), "IP, [cut at 14]");
  EXPECT_EQ(cut_line(tcp, 33), "IP, [cut at 33]");
  EXPECT_EQ(cut_line(tcp, 34), "IP 10.0.0.1 > 192.0.2.9: protocol 6, length 80, [cut at 34]");
  EXPECT_EQ(cut_line(tcp, 38), "IP 10.0.0.1.1024 > 192.0.2.9.80: TCP, [cut at 38]");
  EXPECT_EQ(cut_line(tcp, 60), "IP 10.0.0.1.1024 > 192.0.2.9.80: TCP [S], length 60");
  const std::vector<std::string> tagged{"src", "2001:db8::1", "dst", "2001:db8::2", "vlan", "5", "length", "60"};
  EXPECT_THAT(cut_line(tagged, 16), EndsWith(", ethertype 0x8100, length 78, [cut at 16]"));
  EXPECT_EQ(cut_line(tagged, 18), "vlan 5, IP6, [cut at 18]");
  EXPECT_EQ(cut_line(tagged, 58), "vlan 5, IP6 2001:db8::1 > 2001:db8::2: protocol 17, length 20, [cut at 58]");
  EXPECT_EQ(cut_line({"ethertype", "0x0806"}, 20), "ARP, [cut at 20]");
}

TEST(PacketLine, HasThePortsAfterExtensionHeaders) {
  using namespace packet_testing;
  const auto line_of = [](const Bytes& frame) { return packet_line(frame, frame.size()); };
  EXPECT_EQ(line_of(ethernet(0x86DD, packet_testing::ipv6(60, extension(17) + udp(Bytes(5))))),
            "IP6 2001:db8::1.1234 > 2001:db8::2.53: UDP, length 5");
  EXPECT_EQ(line_of(ethernet(0x86DD, packet_testing::ipv6(44, fragment_header(17, 1448, false) + Bytes(40)))),
            "IP6 2001:db8::1 > 2001:db8::2: protocol 17, fragment at 1448, length 40");
  EXPECT_EQ(
      line_of(ethernet(0x88A8, tag(3, 0x8100, tag(4, 0x0800, packet_testing::ipv4(6, tcp(Bytes(12)) + Bytes(7)))))),
      "vlan 3, vlan 4, IP 10.0.0.1.1234 > 10.0.0.2.80: TCP [S.], length 7");
  EXPECT_EQ(line_of(ethernet(0x86DD, packet_testing::ipv6(60, extension(59, 4)) + Bytes(8))),
            "IP6 2001:db8::1 > 2001:db8::2: protocol 59, length 0");
}

TEST(PacketLine, IsAlwaysOneLine) {
  std::mt19937 random(5);
  auto frame = runtime::build_frame(std::vector<std::string>{"src", "10.0.0.1", "dst", "192.0.2.9", "vlan", "5"}, {});
  for (int round = 0; round < 20000; ++round) {
    auto bytes = frame;
    bytes.resize(random() % (bytes.size() + 1));
    if (!bytes.empty()) bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    if (bytes.size() > 17) std::memcpy(&bytes[16], random() % 2 != 0 ? "\x86\xDD" : "\x08\x06", 2);
    const std::string text = packet_line(bytes, bytes.size() + random() % 3 * 10);
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
}

TEST(PacketLine, OfEachRecordHasItsTime) {
  std::vector<std::uint8_t> records;
  for (const std::uint32_t nanoseconds : {1'999U, 123'456'789U}) {
    const io::CaptureRecord record{.seconds = 0, .nanoseconds = nanoseconds, .captured_bytes = 3, .wire_bytes = 13};
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&record);
    records.insert(records.end(), bytes, bytes + sizeof record);
    records.insert(records.end(), 3, 0);
  }
  EXPECT_THAT(packet_lines(records),
              MatchesRegex("..:..:00\\.000001 runt, length 13\n..:..:00\\.123456 runt, length 13\n"));
  EXPECT_EQ(packet_lines({}), "");
}

}  // namespace
}  // namespace penumbra::cli
