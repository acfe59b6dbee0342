// SPDX-License-Identifier: Apache-2.0
//
// The flow of a frame: hand-made frames, and real frames that are truncated at every length.
#include "flow_packet.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "base/shared_data.h"
#include "tables/capture_frames.h"

namespace penumbra {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes operator+(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

const Bytes kMacs(12, 2);
const Bytes kIpv4Type{0x08, 0x00}, kIpv6Type{0x86, 0xDD};

/// Returns a packet from 10.0.0.1 to 10.0.0.2 with `fragment` as flags and offset.
Bytes ipv4(std::uint8_t protocol, const Bytes& payload, std::uint16_t fragment = 0) {
  const std::size_t total = 20 + payload.size();
  return Bytes{0x45,
               0,
               static_cast<std::uint8_t>(total >> 8),
               static_cast<std::uint8_t>(total),
               0,
               1,
               static_cast<std::uint8_t>(fragment >> 8),
               static_cast<std::uint8_t>(fragment),
               64,
               protocol,
               0,
               0,
               10,
               0,
               0,
               1,
               10,
               0,
               0,
               2} +
         payload;
}

/// Returns a packet from 2001:db8::1 to 2001:db8::2.
Bytes ipv6(std::uint8_t next_header, const Bytes& payload) {
  Bytes header{
      0x60,        0, 0, 0, static_cast<std::uint8_t>(payload.size() >> 8), static_cast<std::uint8_t>(payload.size()),
      next_header, 64};
  for (const std::uint8_t last : {1, 2}) {
    header = header + Bytes{0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last};
  }
  return header + payload;
}

const Bytes kTcp{0x04, 0xD2, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x12, 0, 0, 0, 0, 0, 0};  // 1234 to 80, SYN and ACK
const Bytes kUdp{0x04, 0xD2, 0, 53, 0, 8, 0, 0};                                            // 1234 to 53
const Bytes kEchoReply{0, 7, 0, 0, 0, 1, 0, 1};                                             // type 0, code 7

/// Returns a UDP packet to port 53 with this number of extension headers.
Bytes with_destination_options(unsigned headers) {
  Bytes chain;
  for (unsigned header = 1; header <= headers; ++header) {
    chain = chain + Bytes{static_cast<std::uint8_t>(header == headers ? 17 : 60), 0} + Bytes(6);
  }
  return kMacs + kIpv6Type + ipv6(headers == 0 ? 17 : 60, chain + kUdp);
}

struct Seen {
  FlowFrame what = FlowFrame::malformed;
  Flow flow;
  FlowPacket packet;
};

/// Reads a copy that ends where the frame ends, so that AddressSanitizer finds reads past the end.
Seen read(const Bytes& frame) {
  const Bytes copy(frame.begin(), frame.end());
  flow_key key{};
  Seen seen;
  seen.what = read_frame(parse_headers(std::as_bytes(std::span(copy))), copy.data(), key, seen.packet);
  if (seen.what == FlowFrame::flow) seen.flow = to_flow(key);
  return seen;
}

void expect_ports(const Bytes& frame, std::uint8_t protocol, std::uint16_t source, std::uint16_t destination) {
  const Seen seen = read(frame);
  ASSERT_EQ(seen.what, FlowFrame::flow);
  EXPECT_EQ(seen.flow.protocol, protocol);
  EXPECT_EQ(seen.flow.source_port, source);
  EXPECT_EQ(seen.flow.destination_port, destination);
}

TEST(FlowPacket, ReadsTcpOverIpv4) {
  const Seen seen = read(kMacs + kIpv4Type + ipv4(6, kTcp) + Bytes(6));  // with padding
  ASSERT_EQ(seen.what, FlowFrame::flow);
  EXPECT_EQ(seen.flow, (Flow{.is_ipv6 = false,
                             .source = {0, 0x0A000001},
                             .destination = {0, 0x0A000002},
                             .source_port = 1234,
                             .destination_port = 80,
                             .protocol = 6,
                             .vlan = 0}));
  EXPECT_EQ(seen.packet.bytes, 40U);
  EXPECT_EQ(seen.packet.tcp_flags, 0x12);
}

TEST(FlowPacket, ReadsUdpOverIpv6) {
  const Seen seen = read(kMacs + kIpv6Type + ipv6(17, kUdp));
  ASSERT_EQ(seen.what, FlowFrame::flow);
  EXPECT_EQ(seen.flow, (Flow{.is_ipv6 = true,
                             .source = {0x20010DB800000000, 1},
                             .destination = {0x20010DB800000000, 2},
                             .source_port = 1234,
                             .destination_port = 53,
                             .protocol = 17,
                             .vlan = 0}));
  EXPECT_EQ(seen.packet.bytes, 48U);
  EXPECT_EQ(seen.packet.tcp_flags, 0);
}

TEST(FlowPacket, TakesTypeAndCodeOfIcmpForADestinationPort) {
  expect_ports(kMacs + kIpv4Type + ipv4(1, kEchoReply), 1, 0, 7);
  expect_ports(kMacs + kIpv6Type + ipv6(58, {128, 0, 0, 0}), 58, 0, 128 * 256);
  expect_ports(kMacs + kIpv4Type + ipv4(58, kEchoReply), 58, 0, 0);  // ICMPv6 in an IPv4 packet
}

TEST(FlowPacket, KnowsTheProtocolsThatHavePorts) {
  for (const std::uint8_t protocol : {6, 17, 33, 132, 136}) {
    expect_ports(kMacs + kIpv4Type + ipv4(protocol, kUdp), protocol, 1234, 53);
  }
  for (const std::uint8_t protocol : {2, 47, 50, 89}) {
    expect_ports(kMacs + kIpv4Type + ipv4(protocol, kUdp), protocol, 0, 0);
  }
}

TEST(FlowPacket, GivesNoFragmentPorts) {
  expect_ports(kMacs + kIpv4Type + ipv4(6, kTcp, 0x2000), 6, 0, 0);  // the first fragment
  expect_ports(kMacs + kIpv4Type + ipv4(6, kTcp, 0x0010), 6, 0, 0);  // the last fragment
  expect_ports(kMacs + kIpv4Type + ipv4(6, kTcp, 0x4000), 6, 1234, 80);
  EXPECT_EQ(read(kMacs + kIpv4Type + ipv4(6, kTcp, 0x2000)).packet.tcp_flags, 0);
  expect_ports(kMacs + kIpv6Type + ipv6(44, Bytes{17, 0, 0, 1, 0, 0, 0, 9} + kUdp), 17, 0, 0);
  expect_ports(kMacs + kIpv6Type + ipv6(44, Bytes{17, 0, 0, 8, 0, 0, 0, 9} + kUdp), 17, 0, 0);
  expect_ports(kMacs + kIpv6Type + ipv6(44, Bytes{17, 0, 0, 0, 0, 0, 0, 9} + kUdp), 17, 1234, 53);  // RFC 6946
}

TEST(FlowPacket, PassesOverExtensionHeaders) {
  const Bytes options(6);
  const Bytes hop_by_hop = Bytes{43, 0} + options, routing = Bytes{60, 0} + options;
  const Bytes destination = Bytes{51, 1} + options + Bytes(8), authentication = Bytes{6, 1} + options + Bytes(4);
  expect_ports(kMacs + kIpv6Type + ipv6(0, hop_by_hop + routing + destination + authentication + kTcp), 6, 1234, 80);
  expect_ports(kMacs + kIpv6Type + ipv6(0, {43, 0, 0, 0, 0, 0, 0, 0}), 43, 0, 0);  // the rest is missing
  expect_ports(with_destination_options(PacketHeaders::kMostExtensions), 17, 1234, 53);
  expect_ports(with_destination_options(PacketHeaders::kMostExtensions + 1), 60, 0, 0);
  expect_ports(kMacs + kIpv6Type + ipv6(140, Bytes{6, 0} + options + kTcp), 6, 1234, 80);  // Shim6
}

/// Result of read_for_filter() for a whole frame or for its first `readable` bytes.
struct Filtered {
  FlowFrame what = FlowFrame::malformed;
  Flow flow;
  FilterPart part;
};

Filtered filter(const Bytes& frame, std::size_t readable, unsigned most_headers = PacketHeaders::kMostExtensions) {
  const Bytes copy(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(readable));
  flow_key key{};
  std::uint32_t bytes = 0;
  Filtered seen;
  seen.what = read_for_filter(parse_headers(copy.data(), copy.size(), frame.size()), copy.data(), most_headers, key,
                              bytes, seen.part);
  if (seen.what == FlowFrame::flow) seen.flow = to_flow(key);
  return seen;
}

FlowFrame fate(const Bytes& frame, unsigned most_headers = PacketHeaders::kMostExtensions) {
  return filter(frame, frame.size(), most_headers).what;
}

/// Returns an IPv6 fragment header and the bytes after it.
Bytes fragment6(std::uint8_t next_header, std::uint16_t offset_and_more, const Bytes& rest) {
  return Bytes{next_header,
               0,
               static_cast<std::uint8_t>(offset_and_more >> 8),
               static_cast<std::uint8_t>(offset_and_more),
               0,
               0,
               0,
               9} +
         rest;
}

TEST(FilteredPacket, IsReadUpToItsPortsOrNotAtAll) {
  for (unsigned headers = 0; headers < 20; ++headers) {
    for (unsigned most = 0; most <= PacketHeaders::kMostExtensions; ++most) {
      const Bytes frame = with_destination_options(headers);
      const Filtered seen = filter(frame, frame.size(), most);
      ASSERT_EQ(seen.what, headers <= most ? FlowFrame::flow : FlowFrame::unparsable) << headers << " of " << most;
      if (headers <= most) {
        EXPECT_EQ(seen.flow.destination_port, 53);
      }
    }
  }
}

/// A first segment, a capture or a sender may truncate a frame anywhere. No truncated frame passes without its ports.
TEST(FilteredPacket, ThatIsCutAnywhereIsNotTakenForAnother) {
  const Bytes options(6);
  const std::vector<Bytes> frames{
      kMacs + kIpv4Type + ipv4(6, kTcp), kMacs + kIpv4Type + ipv4(17, kUdp), kMacs + kIpv4Type + ipv4(17, kUdp, 0x2000),
      kMacs + kIpv6Type + ipv6(0, Bytes{43, 0} + options + Bytes{60, 0} + options + Bytes{6, 0} + options + kTcp),
      kMacs + kIpv6Type + ipv6(44, fragment6(17, 1, kUdp))};
  for (const Bytes& frame : frames) {
    const Filtered whole = filter(frame, frame.size());
    ASSERT_EQ(whole.what, FlowFrame::flow);
    ASSERT_NE(whole.flow.destination_port, 0);
    for (std::size_t readable = 0; readable < frame.size(); ++readable) {
      EXPECT_NE(filter(frame, readable).what, FlowFrame::flow) << readable << " of " << frame.size();
    }
  }
}

TEST(FilteredPacket, OfAFirstFragmentHasItsTransportHeader) {
  for (const std::uint16_t offset_and_more : {0x2000, 0}) {  // and a whole packet
    EXPECT_EQ(fate(kMacs + kIpv4Type + ipv4(6, Bytes(kTcp.begin(), kTcp.begin() + 16), offset_and_more)),
              FlowFrame::unparsable);
    EXPECT_EQ(fate(kMacs + kIpv4Type + ipv4(17, Bytes(kUdp.begin(), kUdp.begin() + 7), offset_and_more)),
              FlowFrame::unparsable);
    EXPECT_EQ(fate(kMacs + kIpv4Type + ipv4(1, Bytes(7), offset_and_more)), FlowFrame::unparsable);
    EXPECT_EQ(fate(kMacs + kIpv4Type + ipv4(47, {}, offset_and_more)), FlowFrame::flow) << "nothing is read of it";
  }
  // RFC 7112: the header chain continues in the second fragment.
  EXPECT_EQ(fate(kMacs + kIpv6Type + ipv6(44, fragment6(60, 1, {17, 0, 1, 4, 0, 0, 0, 0}))), FlowFrame::unparsable);
  EXPECT_EQ(fate(kMacs + kIpv6Type + ipv6(44, fragment6(60, 1, {}))), FlowFrame::unparsable);
  EXPECT_EQ(fate(kMacs + kIpv6Type + ipv6(44, fragment6(58, 1, {128, 0, 0}))), FlowFrame::unparsable);
  EXPECT_EQ(fate(kMacs + kIpv6Type + ipv6(58, {128, 0, 0, 0})), FlowFrame::flow);
  const Bytes twice = fragment6(44, 1, fragment6(17, 0, kUdp));
  EXPECT_EQ(fate(kMacs + kIpv6Type + ipv6(44, twice)), FlowFrame::unparsable);
}

TEST(FilteredPacket, OfALaterFragmentBeginsBehindTheTransportHeader) {
  const Bytes rest(24);
  for (const std::uint16_t offset : {1, 2, 3}) {
    const FlowFrame expected = offset * 8 < 20 ? FlowFrame::unparsable : FlowFrame::flow;
    const auto offset6 = static_cast<std::uint16_t>(offset * 8);
    EXPECT_EQ(fate(kMacs + kIpv4Type + ipv4(6, rest, offset)), expected) << offset;
    EXPECT_EQ(fate(kMacs + kIpv6Type + ipv6(44, fragment6(6, offset6, rest))), expected) << offset;
    EXPECT_EQ(fate(kMacs + kIpv4Type + ipv4(17, rest, offset)), FlowFrame::flow) << offset;
  }
}

TEST(FilteredPacket, SaysWhatIsBeforeItsTransportHeader) {
  using namespace ipv6_extension;
  const auto part = [](const Bytes& frame) { return filter(frame, frame.size()).part; };
  const FilterPart whole = part(kMacs + kIpv4Type + ipv4(6, kTcp, 0x4000));
  EXPECT_FALSE(whole.is_fragment || whole.is_later_fragment || whole.extension_headers != 0);
  const FilterPart first = part(kMacs + kIpv4Type + ipv4(6, kTcp, 0x2000));
  EXPECT_TRUE(first.is_fragment && !first.is_later_fragment);
  const FilterPart later = part(kMacs + kIpv4Type + ipv4(6, kTcp, 0x2003));
  EXPECT_TRUE(later.is_fragment && later.is_later_fragment);
  const FilterPart whole6 = part(kMacs + kIpv6Type + ipv6(44, fragment6(17, 0, kUdp)));  // RFC 6946
  EXPECT_FALSE(whole6.is_fragment);
  EXPECT_EQ(whole6.extension_headers, kFragmentBit);
  const FilterPart last6 = part(kMacs + kIpv6Type + ipv6(44, fragment6(60, 8, kUdp)));
  EXPECT_TRUE(last6.is_fragment && last6.is_later_fragment);
  const Bytes chain =
      Bytes{43, 0} + Bytes(6) + Bytes{51, 0} + Bytes(6) + Bytes{60, 0} + Bytes(6) + Bytes{17, 0} + Bytes(6) + kUdp;
  EXPECT_EQ(part(kMacs + kIpv6Type + ipv6(0, chain)).extension_headers,
            kHopByHopBit | kRoutingBit | kAuthenticationBit | kDestinationBit);
}

TEST(FilteredPacket, MayNotHideBehindOtherFrames) {
  const Bytes tag{0x81, 0x00, 0x20, 0x07}, packet = ipv4(17, kUdp);
  EXPECT_EQ(fate(kMacs + tag + tag + kIpv4Type + packet), FlowFrame::flow);
  EXPECT_EQ(fate(kMacs + tag + tag + tag + kIpv4Type + packet), FlowFrame::unparsable);
  const Bytes snap{0xAA, 0xAA, 3, 0, 0, 0};
  EXPECT_EQ(fate(kMacs + Bytes{0, 36} + snap + kIpv4Type + packet), FlowFrame::unparsable);
  EXPECT_EQ(fate(kMacs + Bytes{0, 56} + snap + kIpv6Type + ipv6(17, kUdp)), FlowFrame::unparsable);
  EXPECT_EQ(fate(kMacs + Bytes{0, 36} + snap + Bytes{0x08, 0x06} + packet), FlowFrame::not_ip);
  EXPECT_EQ(fate(kMacs + Bytes{0x08, 0x06} + Bytes(28)), FlowFrame::not_ip);
}

/// The addresses may be in another segment than the first.
TEST(FlowPacket, WithHeadersInSeveralSegmentsIsNotRead) {
  const Bytes frame = kMacs + kIpv4Type + ipv4(6, kTcp);
  PacketHeaders headers = parse_headers(std::as_bytes(std::span(frame)));
  headers.flags |= PacketHeaders::kScattered;
  flow_key key{};
  FlowPacket packet;
  std::uint32_t bytes = 0;
  FilterPart part;
  EXPECT_EQ(read_frame(headers, frame.data(), key, packet), FlowFrame::malformed);
  EXPECT_EQ(read_for_filter(headers, frame.data(), 8, key, bytes, part), FlowFrame::unparsable);
}

TEST(FlowPacket, PassesOverTags) {
  const Bytes tag{0x81, 0x00, 0x20, 0x07}, service_tag{0x88, 0xA8, 0x00, 0x09};
  EXPECT_EQ(read(kMacs + tag + kIpv4Type + ipv4(17, kUdp)).flow.vlan, 7);
  EXPECT_EQ(read(kMacs + service_tag + tag + kIpv6Type + ipv6(17, kUdp)).flow.vlan, 9);
  EXPECT_EQ(read(kMacs + tag + tag + tag + kIpv4Type + ipv4(17, kUdp)).what, FlowFrame::not_ip);
  EXPECT_EQ(read(kMacs + Bytes{0x81, 0x00}).what, FlowFrame::malformed);
}

TEST(FlowPacket, RefusesWhatIsNoPacket) {
  EXPECT_EQ(read({}).what, FlowFrame::malformed);
  EXPECT_EQ(read(kMacs + Bytes{8}).what, FlowFrame::malformed);
  EXPECT_EQ(read(kMacs + Bytes{0x08, 0x06} + Bytes(28)).what, FlowFrame::not_ip);
  Bytes wrong = kMacs + kIpv4Type + ipv4(17, kUdp);
  EXPECT_EQ(read(Bytes(wrong.begin(), wrong.end() - 1)).what, FlowFrame::malformed);  // shorter than its total length
  for (const std::uint8_t first : {0x65, 0x44}) {
    wrong[14] = first;
    EXPECT_EQ(read(wrong).what, FlowFrame::malformed);
  }
  wrong = kMacs + kIpv4Type + ipv4(17, {});
  wrong[17] = 19;  // its total length is less than its header length
  EXPECT_EQ(read(wrong).what, FlowFrame::malformed);
  wrong = kMacs + kIpv6Type + ipv6(17, kUdp);
  wrong[14] = 0x45;
  EXPECT_EQ(read(wrong).what, FlowFrame::malformed);
}

/// Bytes in another segment count for the length and are not read.
TEST(FlowPacket, ReadsNothingPastWhatIsReadable) {
  const Bytes frame = kMacs + kIpv4Type + ipv4(6, kTcp);
  flow_key key{};
  FlowPacket packet;
  for (std::size_t readable = 0; readable <= frame.size(); ++readable) {
    const Bytes copy(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(readable));
    const FlowFrame what = read_frame(parse_headers(copy.data(), readable, frame.size()), copy.data(), key, packet);
    ASSERT_EQ(what, readable < 34 ? FlowFrame::malformed : FlowFrame::flow) << readable;
    if (what != FlowFrame::flow) continue;
    EXPECT_EQ(packet.bytes, 40U);
    EXPECT_EQ(to_flow(key).destination_port, readable < 38 ? 0 : 80);
    EXPECT_EQ(packet.tcp_flags, readable < 48 ? 0 : 0x12);
  }
}

TEST(FlowPacket, StaysWithinRealFramesCutAnywhere) {
  const auto folder = shared_data() / "pcap";
  if (!exists(folder)) GTEST_SKIP() << folder << " is not there";
  std::size_t flows = 0;
  for (const auto& frame : frames_of(folder / "tcpreplay_test.pcap")) {
    for (std::size_t bytes = 0; bytes <= frame.size() && bytes < 120; ++bytes) {
      const Bytes copy(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(bytes));
      flow_key key{};
      FlowPacket packet;
      const FlowFrame what = read_frame(parse_headers(copy.data(), bytes, frame.size()), copy.data(), key, packet);
      if (what != FlowFrame::flow) continue;
      ++flows;
      ASSERT_LE(packet.bytes, frame.size());
      ASSERT_EQ(to_key(to_flow(key)), key);
    }
  }
  EXPECT_GT(flows, 0U);
}

}  // namespace
}  // namespace penumbra
