// SPDX-License-Identifier: Apache-2.0
//
// Parses hand-made frames. Every frame is also given to the oracle, and to the parser with fewer accessible bytes.
#include "packet/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "packet/oracle.h"
#include "packet/testing.h"

namespace penumbra {

static std::ostream& operator<<(std::ostream& out, const PacketHeaders& headers) {
  return out << testing::PrintToString(packet_oracle::facts_of(headers));
}
static std::ostream& operator<<(std::ostream& out, HeaderFault fault) {
  return out << "fault " << static_cast<unsigned>(fault);
}

namespace {

using namespace packet_testing;
using H = PacketHeaders;
using F = HeaderFault;
using ip_protocol::kTcp;
using ip_protocol::kUdp;

constexpr std::size_t kIpv4 = 0x0800, kIpv6 = 0x86DD, kArp = 0x0806, kTag = 0x8100, kServiceTag = 0x88A8;

/// Parses a copy that ends where the accessible bytes end, so that AddressSanitizer finds reads past the end.
PacketHeaders parse_first(const Bytes& frame, std::size_t readable) {
  const Bytes copy(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(readable));
  return parse_headers(copy.data(), readable, frame.size());
}

PacketHeaders parse(const Bytes& frame) {
  const PacketHeaders headers = parse_first(frame, frame.size());
  EXPECT_EQ(packet_oracle::facts_of(headers), packet_oracle::Oracle(frame).facts());
  for (std::size_t readable = 0; readable < frame.size(); ++readable) {
    const PacketHeaders part = parse_first(frame, readable);
    EXPECT_TRUE(part.fault == F::not_accessible || part == headers) << readable << " bytes accessible";
  }
  return headers;
}

F fault(const Bytes& frame) {
  return parse(frame).fault;
}

TEST(Parse, TcpOverIpv4) {
  EXPECT_EQ(parse(ethernet(kIpv4, ipv4(kTcp, tcp()) + Bytes(6))),  // with padding
            (H{.flags = H::kIpv4 | H::kPorts,
               .protocol = 6,
               .ethertype = kIpv4,
               .network = 14,
               .transport = 34,
               .payload = 54,
               .end = 54,
               .source_port = 1234,
               .destination_port = 80,
               .tcp_flags = 0x12}));
}

TEST(Parse, UdpOverIpv6) {
  EXPECT_EQ(parse(ethernet(kIpv6, ipv6(kUdp, udp(Bytes(3))))), (H{.flags = H::kIpv6 | H::kPorts,
                                                                  .protocol = 17,
                                                                  .ethertype = kIpv6,
                                                                  .network = 14,
                                                                  .transport = 54,
                                                                  .payload = 62,
                                                                  .end = 65,
                                                                  .source_port = 1234,
                                                                  .destination_port = 53}));
}

TEST(Parse, UdpOverIpv4AndTcpOverIpv6) {
  const PacketHeaders datagram = parse(ethernet(kIpv4, ipv4(kUdp, udp(Bytes(30)))));
  EXPECT_EQ(datagram.payload, 42);
  EXPECT_EQ(datagram.end, 72U);
  EXPECT_EQ(datagram.tcp_flags, 0);
  const PacketHeaders segment = parse(ethernet(kIpv6, ipv6(kTcp, tcp(Bytes(12)) + Bytes(5))));
  EXPECT_EQ(segment.transport, 54);
  EXPECT_EQ(segment.payload, 86);
  EXPECT_EQ(segment.tcp_flags, 0x12);
}

TEST(Parse, TheSpanOfAWholeFrame) {
  const Bytes frame = ethernet(kIpv4, ipv4(kTcp, tcp()));
  EXPECT_EQ(parse_headers(std::as_bytes(std::span(frame))), parse(frame));
}

TEST(Parse, TagsUpToTwo) {
  const PacketHeaders one = parse(ethernet(kTag, tag(0xA005, kIpv4, ipv4(kTcp, tcp()))));
  EXPECT_EQ(one.tags, 1);
  EXPECT_EQ(one.tci, 0xA005);
  EXPECT_EQ(one.vlan(), 5);
  EXPECT_EQ(one.ethertype, kIpv4);
  EXPECT_EQ(one.network, 18);
  EXPECT_EQ(one.destination_port, 80);
  EXPECT_FALSE(one.has(H::kServiceTag));
  const PacketHeaders two = parse(ethernet(kServiceTag, tag(7, kTag, tag(8, kIpv6, ipv6(kUdp, udp())))));
  EXPECT_EQ(two.tags, 2);
  EXPECT_EQ(two.tci, 7);
  EXPECT_TRUE(two.has(H::kServiceTag));
  EXPECT_EQ(two.network, 22);
  EXPECT_EQ(two.destination_port, 53);
  const PacketHeaders same = parse(ethernet(kTag, tag(7, kTag, tag(8, 0x88CC, {}))));
  EXPECT_EQ(same.ethertype, 0x88CC);
  EXPECT_EQ(same.fault, F::none);
  const PacketHeaders three = parse(ethernet(kTag, tag(1, kTag, tag(2, kTag, tag(3, kIpv4, ipv4(kTcp, tcp()))))));
  EXPECT_EQ(three.fault, F::too_many_tags);
  EXPECT_EQ(three.ethertype, kTag);
  EXPECT_FALSE(three.is_ip());
}

TEST(Parse, AFrameThatEndsWithinItsHeader) {
  EXPECT_EQ(fault({}), F::frame_cut);
  EXPECT_EQ(fault(Bytes(13)), F::frame_cut);
  EXPECT_EQ(fault(ethernet(0x88CC, {})), F::none);
  EXPECT_EQ(fault(ethernet(kTag, {0, 1, 8})), F::frame_cut);
  const PacketHeaders inner = parse(ethernet(kTag, tag(9, kTag, {0, 1, 8})));
  EXPECT_EQ(inner.fault, F::frame_cut);
  EXPECT_EQ(inner.tags, 1);
  EXPECT_EQ(inner.tci, 9);
}

TEST(Parse, NoIpBehindOtherEthertypes) {
  for (const std::size_t type : {0x8847U, 0x8864U, 0x9100U, 0x0600U}) {
    const PacketHeaders other = parse(ethernet(type, ipv4(kTcp, tcp())));
    EXPECT_EQ(other, (H{.ethertype = static_cast<std::uint16_t>(type), .network = 14, .end = 54}));
  }
}

TEST(Parse, LengthsAndSnapOfIeee8023) {
  const Bytes snap{0xAA, 0xAA, 3, 0, 0, 0};
  EXPECT_EQ(parse(ethernet(6, Bytes(46))), (H{.ethertype = 6, .network = 14, .end = 20}));
  EXPECT_EQ(parse(ethernet(0x05FF, Bytes(46))).end, 60U);
  EXPECT_EQ(fault(ethernet(28, snap + word(kIpv4) + ipv4(kUdp, udp()))), F::ip_in_snap);
  EXPECT_EQ(fault(ethernet(48, snap + word(kIpv6) + ipv6(kUdp, udp()))), F::ip_in_snap);
  EXPECT_EQ(fault(ethernet(0, snap + word(kIpv4))), F::ip_in_snap) << "the length is not trusted";
  EXPECT_EQ(fault(ethernet(8, snap + word(kArp))), F::none);
  EXPECT_EQ(fault(ethernet(kTag, tag(1, 8, snap + word(kIpv4)))), F::ip_in_snap);
}

TEST(Parse, Arp) {
  const Bytes request = Bytes{0, 1, 8, 0, 6, 4, 0, 1} + Bytes(20);
  EXPECT_EQ(parse(ethernet(kArp, request + Bytes(18))), (H{.ethertype = kArp, .network = 14, .end = 42}));
  EXPECT_EQ(fault(ethernet(kArp, Bytes(7))), F::arp_cut);
  EXPECT_EQ(fault(ethernet(kArp, Bytes(request.begin(), request.end() - 1))), F::arp_cut);
}

TEST(Parse, OptionsOfIpv4) {
  const PacketHeaders headers = parse(ethernet(kIpv4, ipv4(kUdp, udp(), 0, Bytes(40, 1))));
  EXPECT_EQ(headers.fault, F::none);
  EXPECT_TRUE(headers.has(H::kOptions));
  EXPECT_EQ(headers.transport, 74);
  EXPECT_EQ(headers.destination_port, 53);
}

/// Returns a packet with one changed byte or word of the IPv4 header.
Bytes changed(std::size_t at, std::size_t value, std::size_t bytes) {
  Bytes packet = ipv4(kTcp, tcp());
  if (bytes == 1) packet[at] = static_cast<std::uint8_t>(value);
  if (bytes == 2) put_word(packet, at, value);
  return ethernet(kIpv4, packet);
}

TEST(Parse, WrongHeadersOfIpv4) {
  EXPECT_EQ(fault(changed(0, 0x65, 1)), F::ip_version);
  EXPECT_EQ(fault(changed(0, 0x44, 1)), F::ip_header_length);
  EXPECT_EQ(fault(changed(2, 19, 2)), F::ip_total_length);
  EXPECT_EQ(fault(changed(0, 0x4F, 1)), F::ip_total_length) << "40 bytes of packet, 60 of header";
  EXPECT_EQ(fault(ethernet(kIpv4, Bytes(19, 0x45))), F::ip_header_cut);
  Bytes cut = ipv4(kUdp, udp(), 0, Bytes(40, 1));
  cut.resize(59);
  const PacketHeaders headers = parse(ethernet(kIpv4, cut));
  EXPECT_EQ(headers.fault, F::ip_header_cut);
  EXPECT_TRUE(headers.has(H::kIpv4));
  EXPECT_TRUE(headers.has(H::kTruncated));
  EXPECT_EQ(headers.transport, 0);
}

TEST(Parse, WrongHeadersOfIpv6) {
  Bytes version = ipv6(kUdp, udp());
  version[0] = 0x45;
  EXPECT_EQ(fault(ethernet(kIpv6, version)), F::ip_version);
  EXPECT_EQ(fault(ethernet(kIpv6, Bytes(39, 0x60))), F::ip_header_cut);
}

TEST(Parse, APacketLongerThanItsFrame) {
  Bytes packet = ipv4(kTcp, tcp() + Bytes(100));
  packet.resize(60);
  const PacketHeaders headers = parse(ethernet(kIpv4, packet));
  EXPECT_EQ(headers.fault, F::ip_length);
  EXPECT_TRUE(headers.has(H::kTruncated));
  EXPECT_FALSE(headers.is_unparsable());
  EXPECT_EQ(headers.end, 74U);
  EXPECT_EQ(headers.destination_port, 80);
  packet.resize(39);
  const PacketHeaders cut = parse(ethernet(kIpv4, packet));
  EXPECT_EQ(cut.fault, F::transport_cut);
  EXPECT_TRUE(cut.has(H::kTruncated));
  EXPECT_EQ(cut.tcp_flags, 0x12) << "14 bytes of the header are there";
}

TEST(Parse, TheLengthFieldsOfTransportHeaders) {
  Bytes segment = tcp(Bytes(8));
  for (const unsigned words : {0U, 4U, 8U}) {
    segment[12] = static_cast<std::uint8_t>(words << 4);
    const PacketHeaders headers = parse(ethernet(kIpv4, ipv4(kTcp, segment)));
    EXPECT_EQ(headers.fault, F::data_offset) << words;
    EXPECT_EQ(headers.payload, 54);
    EXPECT_EQ(headers.destination_port, 80);
    EXPECT_FALSE(headers.is_unparsable());
  }
  for (const std::size_t length : {7U, 13U}) {
    Bytes datagram = udp(Bytes(4));
    put_word(datagram, 4, length);
    EXPECT_EQ(fault(ethernet(kIpv4, ipv4(kUdp, datagram))), F::udp_length) << length;
    EXPECT_EQ(fault(ethernet(kIpv6, ipv6(kUdp, datagram))), F::udp_length) << length;
  }
  Bytes with_trailer = udp(Bytes(4));  // RFC 9868: UDP options
  put_word(with_trailer, 4, 9);
  EXPECT_EQ(fault(ethernet(kIpv4, ipv4(kUdp, with_trailer))), F::none);
  const Bytes dccp{4, 0xD2, 0, 80, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(parse(ethernet(kIpv4, ipv4(33, dccp))).payload, 50);
  Bytes wrong = dccp;
  wrong[4] = 2;
  EXPECT_EQ(fault(ethernet(kIpv4, ipv4(33, wrong))), F::data_offset);
}

struct Transport {
  std::uint8_t protocol;
  std::size_t least;  ///< bytes of the header
  unsigned flag;      ///< PacketHeaders::kPorts, kIcmp or 0
};
std::ostream& operator<<(std::ostream& out, const Transport& transport) {
  return out << "protocol " << unsigned{transport.protocol};
}

class ParseTransport : public testing::TestWithParam<Transport> {};

TEST_P(ParseTransport, NeedsItsWholeHeader) {
  const auto [protocol, least, flag] = GetParam();
  const Bytes header{8, 1, 0, 53, 3, 12, 0, 0, 0, 0, 0, 0, 0x50, 0, 0, 0, 0, 0, 0, 0};
  for (std::size_t bytes = 0; bytes <= header.size(); ++bytes) {
    const Bytes part(header.begin(), header.begin() + static_cast<std::ptrdiff_t>(bytes));
    Bytes whole = part;
    if (protocol == kUdp && bytes >= 8) put_word(whole, 4, bytes);
    const PacketHeaders headers = parse(ethernet(kIpv4, ipv4(protocol, whole) + Bytes(20, 0xEE)));
    EXPECT_EQ(headers.fault, bytes < least ? F::transport_cut : F::none) << bytes;
    EXPECT_EQ(headers.has(H::kPorts), flag == H::kPorts && bytes >= 4);
    EXPECT_EQ(headers.has(H::kIcmp), flag == H::kIcmp && bytes >= 2);
    EXPECT_EQ(headers.source_port, headers.has(H::kPorts) ? 0x0801 : 0);
    EXPECT_EQ(headers.icmp_type * 256 + headers.icmp_code, headers.has(H::kIcmp) ? 0x0801 : 0);
    EXPECT_EQ(headers.protocol, protocol);
  }
}

INSTANTIATE_TEST_SUITE_P(Protocols, ParseTransport,
                         testing::Values(Transport{kTcp, 20, H::kPorts}, Transport{kUdp, 8, H::kPorts},
                                         Transport{136, 8, H::kPorts}, Transport{132, 12, H::kPorts},
                                         Transport{33, 12, H::kPorts}, Transport{1, 8, H::kIcmp}, Transport{58, 0, 0},
                                         Transport{2, 0, 0}, Transport{4, 0, 0}, Transport{41, 0, 0},
                                         Transport{47, 0, 0}, Transport{50, 0, 0}, Transport{51, 0, 0},
                                         Transport{0, 0, 0}, Transport{59, 0, 0}));

TEST(Parse, Icmpv6) {
  const PacketHeaders headers = parse(ethernet(kIpv6, ipv6(58, {135, 3, 0, 0, 1})));
  EXPECT_EQ(headers.flags, H::kIpv6 | H::kIcmp);
  EXPECT_EQ(headers.icmp_type, 135);
  EXPECT_EQ(headers.icmp_code, 3);
  EXPECT_EQ(headers.payload, 58);
  EXPECT_EQ(fault(ethernet(kIpv6, ipv6(58, {135, 3, 0}))), F::transport_cut);
  EXPECT_EQ(parse(ethernet(kIpv6, ipv6(1, Bytes(8)))).flags, H::kIpv6) << "ICMP of IPv4";
}

TEST(Parse, TheSpiOfEsp) {
  EXPECT_EQ(parse(ethernet(kIpv4, ipv4(50, {0x80, 1, 2, 3, 0, 0, 0, 1}))).spi, 0x80010203U);
  const PacketHeaders headers = parse(ethernet(kIpv6, ipv6(60, extension(50) + Bytes{0, 0, 1, 0} + extension(6))));
  EXPECT_EQ(headers.spi, 256U);
  EXPECT_EQ(headers.protocol, 50) << "nothing after ESP is read";
  EXPECT_EQ(headers.payload, headers.transport);
}

TEST(Parse, FragmentsOfIpv4) {
  const PacketHeaders first = parse(ethernet(kIpv4, ipv4(kTcp, tcp() + Bytes(4), 0x2000)));
  EXPECT_TRUE(first.is_first_fragment());
  EXPECT_EQ(first.flags, H::kIpv4 | H::kFragment | H::kMoreFragments | H::kPorts);
  EXPECT_EQ(first.destination_port, 80);
  const PacketHeaders middle = parse(ethernet(kIpv4, ipv4(kTcp, Bytes(8, 0xFF), 0x2003)));
  EXPECT_EQ(middle.flags, H::kIpv4 | H::kFragment | H::kLaterFragment | H::kMoreFragments);
  EXPECT_EQ(middle.fragment_offset, 24);
  EXPECT_EQ(middle.transport, 34);
  EXPECT_EQ(middle.payload, 34);
  EXPECT_EQ(middle.source_port, 0);
  EXPECT_EQ(middle.fault, F::none);
  const PacketHeaders last = parse(ethernet(kIpv4, ipv4(kTcp, Bytes(8), 0x1FFF)));
  EXPECT_EQ(last.fragment_offset, 65528);
  EXPECT_FALSE(last.has(H::kMoreFragments));
  EXPECT_EQ(parse(ethernet(kIpv4, ipv4(kTcp, tcp(), 0xC000))).flags, H::kIpv4 | H::kPorts)
      << "DF and the reserved bit make no fragment";
}

/// A fragment must not split or overwrite the transport header (RFC 1858, RFC 3128, RFC 7112).
TEST(Parse, FragmentsWithoutAWholeTransportHeader) {
  EXPECT_EQ(fault(ethernet(kIpv4, ipv4(kTcp, Bytes(16), 0x2000))), F::first_fragment_cut);
  EXPECT_EQ(fault(ethernet(kIpv4, ipv4(kUdp, {}, 0x2000))), F::first_fragment_cut);
  EXPECT_EQ(fault(ethernet(kIpv4, ipv4(47, {}, 0x2000))), F::none);
  EXPECT_EQ(fault(ethernet(kIpv4, ipv4(kTcp, Bytes(16), 0x0001))), F::fragment_overlap);
  EXPECT_EQ(fault(ethernet(kIpv4, ipv4(kTcp, Bytes(16), 0x0002))), F::fragment_overlap);
  EXPECT_EQ(fault(ethernet(kIpv4, ipv4(kTcp, Bytes(16), 0x0003))), F::none);
  EXPECT_EQ(fault(ethernet(kIpv4, ipv4(132, Bytes(16), 0x0001))), F::fragment_overlap);
  EXPECT_EQ(fault(ethernet(kIpv4, ipv4(kUdp, Bytes(16), 0x0001))), F::none);
  EXPECT_EQ(fault(ethernet(kIpv6, ipv6(44, fragment_header(kTcp, 0, true) + Bytes(8)))), F::first_fragment_cut);
  EXPECT_EQ(fault(ethernet(kIpv6, ipv6(44, fragment_header(60, 0, true) + Bytes{6, 9, 0, 0, 0, 0, 0, 0}))),
            F::first_fragment_cut)
      << "the chain of extension headers goes on in the second fragment";
  EXPECT_EQ(fault(ethernet(kIpv6, ipv6(44, fragment_header(kTcp, 8, false) + Bytes(8)))), F::fragment_overlap);
  Bytes long_datagram = udp(Bytes(8));
  put_word(long_datagram, 4, 3000);
  EXPECT_EQ(fault(ethernet(kIpv4, ipv4(kUdp, long_datagram, 0x2000))), F::none) << "later fragments have the rest";
}

TEST(Parse, FragmentsOfIpv6) {
  const PacketHeaders first = parse(ethernet(kIpv6, ipv6(44, fragment_header(kUdp, 0, true) + udp())));
  EXPECT_TRUE(first.is_first_fragment());
  EXPECT_EQ(first.transport, 62);
  EXPECT_EQ(first.destination_port, 53);
  const PacketHeaders later = parse(ethernet(kIpv6, ipv6(44, fragment_header(60, 1448, true) + Bytes(8, 1))));
  EXPECT_TRUE(later.has(H::kLaterFragment));
  EXPECT_EQ(later.fragment_offset, 1448);
  EXPECT_EQ(later.protocol, 60) << "the data are no header";
  EXPECT_EQ(later.transport, 62);
  const PacketHeaders whole = parse(ethernet(kIpv6, ipv6(44, fragment_header(kUdp, 0, false) + udp())));
  EXPECT_EQ(whole.flags, H::kIpv6 | H::kOptions | H::kPorts) << "RFC 6946";
  EXPECT_EQ(whole.extensions, ipv6_extension::kFragmentBit);
  const Bytes twice = fragment_header(44, 0, false) + fragment_header(kUdp, 0, false) + udp();
  EXPECT_EQ(fault(ethernet(kIpv6, ipv6(44, twice))), F::second_fragment);
}

TEST(Parse, EveryKindOfExtensionHeader) {
  const Bytes chain = extension(60) + extension(43, 2) + extension(51, 1) + authentication(44) +
                      fragment_header(135, 0, false) + extension(139) + extension(140) + extension(17) + udp();
  const PacketHeaders headers = parse(ethernet(kIpv6, ipv6(0, chain)));
  EXPECT_EQ(headers.fault, F::none);
  EXPECT_EQ(headers.extensions, 0xFF);
  EXPECT_EQ(headers.extension_count, 8);
  EXPECT_EQ(headers.transport, 14 + 40 + chain.size() - 8);
  EXPECT_EQ(headers.protocol, 17);
  EXPECT_EQ(headers.destination_port, 53);
  EXPECT_TRUE(headers.has(H::kOptions));
}

/// RFC 6275 and RFC 7401: no header follows today, so the header itself is the protocol.
TEST(Parse, MobilityAndHipAsProtocols) {
  for (const std::uint8_t protocol : {135, 139}) {
    const PacketHeaders last = parse(ethernet(kIpv6, ipv6(protocol, extension(59))));
    EXPECT_EQ(last.protocol, protocol);
    EXPECT_EQ(last.extension_count, 0);
    EXPECT_EQ(last.transport, 54);
    EXPECT_EQ(last.fault, F::none);
    const PacketHeaders followed = parse(ethernet(kIpv6, ipv6(protocol, extension(17) + udp())));
    EXPECT_EQ(followed.protocol, 17);
    EXPECT_EQ(followed.destination_port, 53);
  }
  EXPECT_EQ(parse(ethernet(kIpv6, ipv6(60, extension(59)))).protocol, 59) << "no next header";
}

Bytes with_destination_options(unsigned count, std::uint8_t units = 0) {
  Bytes chain;
  for (unsigned i = 1; i <= count; ++i) chain = chain + extension(i == count ? 17 : 60, units);
  return ethernet(kIpv6, ipv6(count == 0 ? 17 : 60, chain + udp()));
}

TEST(Parse, ALimitedNumberOfExtensionHeaders) {
  EXPECT_EQ(fault(with_destination_options(H::kMostExtensions)), F::none);
  const PacketHeaders headers = parse(with_destination_options(H::kMostExtensions + 1));
  EXPECT_EQ(headers.fault, F::too_many_extensions);
  EXPECT_EQ(headers.extension_count, H::kMostExtensions);
  EXPECT_EQ(headers.protocol, 60);
  EXPECT_FALSE(headers.has(H::kPorts));
  const Bytes mobility = extension(60) + extension(60) + extension(60) + extension(60) + extension(60) + extension(60) +
                         extension(60) + extension(135) + extension(59);
  EXPECT_EQ(fault(ethernet(kIpv6, ipv6(60, mobility))), F::none);
}

TEST(Parse, ALimitedNumberOfHeaderBytes) {
  const PacketHeaders longest = parse(with_destination_options(8, 30));  // UDP ends at 54 + 8 * 248 + 8 = 2046
  EXPECT_EQ(longest.fault, F::none);
  EXPECT_EQ(longest.transport, 2038);
  EXPECT_EQ(fault(with_destination_options(8, 31)), F::too_long);
  EXPECT_EQ(fault(with_destination_options(1, 255)), F::too_long);
  const Bytes tcp_after = extension(60, 245) + extension(6) + tcp();  // TCP begins at 54 + 1968 + 8 = 2030
  EXPECT_EQ(fault(ethernet(kIpv6, ipv6(60, tcp_after))), F::too_long) << "TCP ends at 2050";
}

TEST(Parse, ExtensionHeadersThatEndThePacket) {
  EXPECT_EQ(fault(ethernet(kIpv6, ipv6(0, {}))), F::extension_cut);
  EXPECT_EQ(fault(ethernet(kIpv6, ipv6(60, Bytes{17, 0, 0, 0, 0, 0, 0}))), F::extension_cut);
  EXPECT_EQ(fault(ethernet(kIpv6, ipv6(60, Bytes{59, 1, 0, 0, 0, 0, 0, 0}))), F::extension_cut);
  EXPECT_EQ(fault(ethernet(kIpv6, ipv6(60, Bytes{59, 1, 0, 0, 0, 0, 0, 0}) + Bytes(64))), F::extension_cut)
      << "the padding is not the packet's";
  EXPECT_EQ(fault(ethernet(kIpv6, ipv6(60, extension(17)))), F::transport_cut);
}

TEST(Parse, ANetworkHeaderAtAnOffset) {
  const Bytes inner = ipv4(kTcp, tcp()), frame = Bytes(23, 0x45) + inner;
  PacketHeaders wanted = parse(ethernet(kIpv4, inner));
  for (std::uint16_t* const offset : {&wanted.network, &wanted.transport, &wanted.payload}) {
    *offset = static_cast<std::uint16_t>(*offset + 9);
  }
  wanted.end += 9;
  EXPECT_EQ(parse_network(frame.data(), frame.size(), frame.size(), 23, kIpv4), wanted);
}

TEST(Parse, LinkHeadersAlone) {
  LinkHeaders link;
  const Bytes tagged = ethernet(kServiceTag, tag(7, kIpv4, {}));
  ASSERT_TRUE(parse_link(tagged.data(), tagged.size(), link));
  EXPECT_EQ(link.network, 18U);
  EXPECT_EQ(link.ethertype, kIpv4);
  EXPECT_EQ(link.tci, 7);
  EXPECT_EQ(link.tags, 1);
  EXPECT_TRUE(link.is_service_tag);
  EXPECT_FALSE(parse_link(tagged.data(), 17, link));
  EXPECT_EQ(link.tags, 0);
  EXPECT_EQ(link.ethertype, kServiceTag);
  EXPECT_FALSE(parse_link(tagged.data(), 13, link));
  EXPECT_EQ(link.network, 0U);
}

}  // namespace
}  // namespace penumbra
