// SPDX-License-Identifier: Apache-2.0
#include "penumbra/flow_hash.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "base/spread_testing.h"
#include "packet/mbuf.h"
#include "packet/testing.h"

namespace penumbra {
namespace {

using namespace packet_testing;

using ip_protocol::kEsp;
using ip_protocol::kIcmp;
using ip_protocol::kSctp;
using ip_protocol::kTcp;
using ip_protocol::kUdp;
using ip_protocol::kUdpLite;

/// The fields of a flow. An address is the last bytes of an IPv4 or IPv6 address.
struct Flow {
  std::uint32_t source = 1, destination = 2;
  std::size_t source_port = 1024, destination_port = 53;
  std::uint8_t protocol = kTcp;
  bool is_ipv6 = false;
  std::size_t fragment = 0;  ///< flags and offset of IPv4

  Flow reversed() const {
    Flow flow = *this;
    std::swap(flow.source, flow.destination);
    std::swap(flow.source_port, flow.destination_port);
    return flow;
  }
};

void put_address(Bytes& packet, std::size_t end, std::uint32_t address) {
  for (std::size_t i = 1; i <= 4; ++i, address >>= 8) packet.at(end - i) = static_cast<std::uint8_t>(address);
}

Bytes frame_of(const Flow& flow) {
  Bytes transport = word(flow.source_port) + word(flow.destination_port) + Bytes(16);
  if (flow.protocol == kTcp) transport[12] = 0x50;
  if (flow.protocol == kUdp) put_word(transport, 4, transport.size());
  if (flow.protocol == kEsp) transport = Bytes{0, 1} + word(flow.source_port) + Bytes(16);
  if (flow.is_ipv6) {
    Bytes packet = ipv6(flow.protocol, transport);
    put_address(packet, 24, flow.source);
    put_address(packet, 40, flow.destination);
    return ethernet(0x86DD, packet);
  }
  Bytes packet = ipv4(flow.protocol, transport, flow.fragment);
  put_address(packet, 16, flow.source);
  put_address(packet, 20, flow.destination);
  return ethernet(0x0800, packet);
}

std::uint32_t hash(const Bytes& frame, std::uint32_t seed = 1, FlowPorts ports = FlowPorts::udp_too) {
  // A copy of the exact size lets AddressSanitizer detect a read past the end.
  const Bytes copy(frame.begin(), frame.end());
  return symmetric_flow_hash(parse_headers(copy.data(), copy.size(), copy.size()), copy.data(), seed, ports);
}
std::uint32_t hash(const Flow& flow, std::uint32_t seed = 1, FlowPorts ports = FlowPorts::udp_too) {
  return hash(frame_of(flow), seed, ports);
}

TEST(SymmetricFlowHash, IsTheSameInBothDirections) {
  std::mt19937 random(1);
  for (int round = 0; round < 10'000; ++round) {
    const bool same_hosts = random() % 4 == 0;
    Flow flow{.source = static_cast<std::uint32_t>(random()),
              .source_port = random() % 65536,
              .destination_port = random() % 65536,
              .protocol = std::array{kTcp, kUdp, kSctp, kUdpLite, kIcmp}[random() % 5],
              .is_ipv6 = random() % 2 == 0,
              .fragment = random() % 8 == 0 ? 0x2000U : 0U};
    flow.destination = same_hosts ? flow.source : static_cast<std::uint32_t>(random());
    ASSERT_EQ(hash(flow), hash(flow.reversed()));
  }
}

TEST(SymmetricFlowHash, DependsOnEachPartOfTheFlowAndOnTheSeed) {
  for (const bool is_ipv6 : {false, true}) {
    for (const std::uint8_t protocol : {kTcp, kUdp, kSctp, kUdpLite}) {
      const Flow flow{.protocol = protocol, .is_ipv6 = is_ipv6};
      const auto with = [&flow](const auto& change) {
        Flow other = flow;
        change(other);
        return hash(other);
      };
      EXPECT_NE(with([](Flow& other) { other.source = 3; }), hash(flow));
      EXPECT_NE(with([](Flow& other) { other.destination = 3; }), hash(flow));
      EXPECT_NE(with([](Flow& other) { other.source_port = 3; }), hash(flow));
      EXPECT_NE(with([](Flow& other) { other.destination_port = 3; }), hash(flow));
      EXPECT_NE(with([](Flow& other) { std::swap(other.source_port, other.destination_port); }), hash(flow))
          << "a port belongs to its address";
      EXPECT_NE(with([](Flow& other) { other.protocol = other.protocol == kTcp ? kUdp : kTcp; }), hash(flow));
      EXPECT_NE(hash(flow, 2), hash(flow));
    }
  }
}

TEST(SymmetricFlowHash, TakesTheSpiOfEsp) {
  for (const bool is_ipv6 : {false, true}) {
    const Flow flow{.protocol = kEsp, .is_ipv6 = is_ipv6},
        other{.source_port = 7, .protocol = kEsp, .is_ipv6 = is_ipv6};
    EXPECT_NE(hash(flow), hash(other));
    EXPECT_EQ(
        hash(flow),
        hash(
            Flow{.source = 2, .destination = 1, .source_port = flow.source_port, .protocol = kEsp, .is_ipv6 = is_ipv6}))
        << "the addresses have no order";
  }
}

TEST(SymmetricFlowHash, KeepsTheFragmentsOfADatagramTogether) {
  for (const std::uint8_t protocol : {kTcp, kUdp, kEsp}) {
    const std::uint32_t first = hash(Flow{.protocol = protocol, .fragment = 0x2000});
    EXPECT_EQ(hash(Flow{.source_port = 9, .protocol = protocol, .fragment = 0x2010}), first);
    EXPECT_EQ(hash(Flow{.source_port = 8, .protocol = protocol, .fragment = 0x0020}), first);
  }
  // The first fragment has another extension header before UDP, so the later one does not know the protocol.
  const Bytes first = ethernet(0x86DD, ipv6(44, fragment_header(60, 0, true) + extension(kUdp) + udp()));
  const Bytes later = ethernet(0x86DD, ipv6(44, fragment_header(60, 16, false) + Bytes(16, 7)));
  EXPECT_EQ(hash(first), hash(later));
}

/// The choice `tcp_and_sctp` keeps fragments of UDP on the way of whole datagrams.
TEST(SymmetricFlowHash, WithoutPortsOfUdpIsTheSameForItsFragments) {
  constexpr auto kPorts = FlowPorts::tcp_and_sctp;
  for (const std::uint8_t protocol : {kUdp, kUdpLite}) {
    EXPECT_EQ(hash(Flow{.protocol = protocol}, 1, kPorts),
              hash(Flow{.protocol = protocol, .fragment = 0x2000}, 1, kPorts));
  }
  const Bytes whole = ethernet(0x86DD, ipv6(kUdp, udp()));
  const Bytes fragment = ethernet(0x86DD, ipv6(44, fragment_header(kUdp, 0, true) + udp()));
  EXPECT_EQ(hash(whole, 1, kPorts), hash(fragment, 1, kPorts));
  EXPECT_NE(hash(Flow{.source_port = 7}, 1, kPorts), hash(Flow{}, 1, kPorts)) << "TCP";
}

TEST(SymmetricFlowHash, OfATaggedPacketIsThatOfThePacket) {
  const Bytes packet = ipv4(kTcp, tcp());
  EXPECT_EQ(hash(ethernet(0x8100, tag(5, 0x0800, packet))), hash(ethernet(0x0800, packet)));
}

TEST(SymmetricFlowHash, OfOtherFramesTakesTheirEthernetHeader) {
  const Bytes arp = ethernet(0x0806, Bytes{0, 1, 8, 0, 6, 4, 0, 1} + Bytes(20));
  Bytes reversed = arp, other_payload = arp;
  std::swap_ranges(reversed.begin(), reversed.begin() + 6, reversed.begin() + 6);
  other_payload[24] = 1;
  EXPECT_EQ(hash(reversed), hash(arp));
  EXPECT_EQ(hash(other_payload), hash(arp));
  for (std::size_t at = 0; at < 14; ++at) {
    Bytes other = arp;
    other[at] ^= 0x80;
    EXPECT_NE(hash(other), hash(arp)) << at;
  }
  EXPECT_EQ(hash(Bytes(13), 9), 9U);
}

TEST(SymmetricFlowHash, ReadsNothingPastTheEnd) {
  for (const Bytes& whole : {frame_of({}), frame_of({.is_ipv6 = true}), ethernet(0x0806, Bytes(28))}) {
    for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
      hash(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes)));
    }
  }
}

/// Hashes choose a bucket by their high bits and by their remainder; the flows differ only slightly.
TEST(SymmetricFlowHash, SpreadsSimilarFlowsEvenly) {
  constexpr std::size_t kFlows = 5'000;
  const std::vector<std::function<Flow(std::uint32_t)>> families{
      [](std::uint32_t i) { return Flow{.source = 0x0A000000 + i}; },
      [](std::uint32_t i) { return Flow{.destination = 0x0A000000 + (i << 8)}; },
      [](std::uint32_t i) { return Flow{.source_port = 1024 + i}; },
      [](std::uint32_t i) { return Flow{.source = 0x0A000000 + i % 256, .destination = 0xC0000200 + i / 256}; },
      [](std::uint32_t i) { return Flow{.source = 0x0A000000 + i, .protocol = kIcmp, .is_ipv6 = true}; },
      [](std::uint32_t i) { return Flow{.source_port = 1024 + i, .is_ipv6 = true}; },
      [](std::uint32_t i) { return Flow{.source_port = i, .protocol = kEsp}; }};
  for (std::size_t family = 0; family < families.size(); ++family) {
    std::vector<std::uint32_t> hashes(kFlows);
    for (std::uint32_t i = 0; i < kFlows; ++i) hashes[i] = hash(families[family](i), 0x12345678);
    for (const std::size_t buckets : {2U, 3U, 7U, 16U, 256U}) {
      // A hash that is more even than a random one is as good, so the bound is one-sided.
      EXPECT_LT(chi_square_deviation(buckets, kFlows, [&](std::size_t i) { return hashes[i] * buckets >> 32; }), 5)
          << "high bits, family " << family << ", buckets " << buckets;
      EXPECT_LT(chi_square_deviation(buckets, kFlows, [&](std::size_t i) { return hashes[i] % buckets; }), 5)
          << "remainder, family " << family << ", buckets " << buckets;
    }
  }
}

/// Flows that one seed sends to one bucket must still be spread by another seed.
TEST(SymmetricFlowHash, TwoSeedsChooseIndependently) {
  constexpr std::size_t kWays = 4;
  std::vector<Flow> survivors;
  for (std::uint32_t i = 0; survivors.size() < 5'000; ++i) {
    const Flow flow{.source = 0x0A000000 + i};
    if (std::uint64_t{hash(flow, 1)} * kWays >> 32 == 2) survivors.push_back(flow);
  }
  const auto bucket = [&](std::size_t i) { return std::uint64_t{hash(survivors[i], 2)} * kWays >> 32; };
  EXPECT_LT(chi_square_deviation(kWays, survivors.size(), bucket), 5);
}

/// The headers of a packet may be in several segments.
TEST(SymmetricFlowHash, OfAChainIsThatOfItsFrame) {
  for (Bytes frame : {frame_of({}), frame_of({.is_ipv6 = true}), ethernet(0x0806, Bytes(28))}) {
    for (std::size_t first = 0; first < frame.size(); ++first) {
      rte_mbuf segments[2]{};
      segments[0].buf_addr = frame.data();
      segments[0].data_len = static_cast<std::uint16_t>(first);
      segments[0].pkt_len = static_cast<std::uint32_t>(frame.size());
      segments[0].nb_segs = 2;
      segments[0].next = &segments[1];
      segments[1].buf_addr = frame.data() + first;
      segments[1].data_len = static_cast<std::uint16_t>(frame.size() - first);
      EXPECT_EQ(symmetric_flow_hash(parse_headers(segments[0]), segments[0], 1, FlowPorts::udp_too), hash(frame));
    }
  }
}

}  // namespace
}  // namespace penumbra
