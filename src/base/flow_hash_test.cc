// SPDX-License-Identifier: Apache-2.0
#include "penumbra/flow_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "base/spread_testing.h"

namespace penumbra {
namespace {

// On the heap with its exact size, so that ASan detects a read past the end.
using Bytes = std::vector<std::uint8_t>;

constexpr std::uint8_t kUdp = 17, kTcp = 6, kIcmp = 1;

void put(Bytes& bytes, std::size_t at, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * (width - 1 - i)));
}

struct Flow {
  std::uint32_t source = 0xC0000201;
  std::uint32_t destination = 0xCB007105;
  std::uint8_t protocol = kUdp;
  std::uint16_t source_port = 1024;
  std::uint16_t destination_port = 53;
};

/// Returns an IPv4 packet of the flow with a header of `header_words` 32-bit words. The `payload` bytes begin with the
/// ports.
Bytes packet_of(const Flow& flow, std::size_t payload = 8, std::size_t header_words = 5) {
  Bytes packet(header_words * 4 + payload, 0xEE);
  packet[0] = static_cast<std::uint8_t>(0x40 | header_words);
  put(packet, 6, 0, 2);
  packet[9] = flow.protocol;
  put(packet, 12, flow.source, 4);
  put(packet, 16, flow.destination, 4);
  Bytes ports(4);
  put(ports, 0, flow.source_port, 2);
  put(ports, 2, flow.destination_port, 2);
  std::copy_n(ports.begin(), std::min<std::size_t>(4, payload), packet.begin() + static_cast<long>(header_words * 4));
  return packet;
}

std::uint32_t hash_of(const Bytes& packet, std::uint32_t seed = 1) {
  return ipv4_flow_hash(packet.data(), packet.size(), seed, FlowPorts::udp_too);
}

TEST(Ipv4FlowHash, IsTheSameForAllPacketsOfAFlow) {
  const Flow flow;
  const std::uint32_t expected = hash_of(packet_of(flow));
  std::mt19937 random(1);
  for (int i = 0; i < 1'000; ++i) {
    // These fields differ between packets of one flow: type of service, lengths, identification, don't-fragment, TTL,
    // checksum, options, payload.
    Bytes packet = packet_of(flow, 4 + random() % 100, 5 + random() % 11);
    const std::size_t header = static_cast<std::size_t>(packet[0] & 0xF) * 4;
    for (const std::size_t at : {1, 2, 3, 4, 5, 8, 10, 11}) packet[at] = static_cast<std::uint8_t>(random());
    packet[6] = random() % 2 == 0 ? 0x40 : 0;
    for (std::size_t at = 20; at < header; ++at) packet[at] = static_cast<std::uint8_t>(random());
    for (std::size_t at = header + 4; at < packet.size(); ++at) packet[at] = static_cast<std::uint8_t>(random());
    ASSERT_EQ(hash_of(packet), expected);
  }
}

TEST(Ipv4FlowHash, KeepsTheFragmentsOfADatagramTogether) {
  Bytes first = packet_of({});
  put(first, 6, 0x2000, 2);
  std::mt19937 random(2);
  for (int i = 0; i < 1'000; ++i) {
    Bytes later = packet_of({});
    const auto offset = static_cast<std::uint16_t>(1 + random() % 0x1FFF);
    put(later, 6, (random() % 2 == 0 ? 0x2000U : 0U) | offset, 2);
    put(later, 20, random(), 4);  // Payload at the offset of the first fragment's ports.
    ASSERT_EQ(hash_of(later), hash_of(first)) << offset;
  }
}

TEST(Ipv4FlowHash, DependsOnEachPartOfTheFlowAndOnTheSeed) {
  const std::uint32_t hash = hash_of(packet_of({}));
  EXPECT_NE(hash_of(packet_of({.source = 0xC0000202})), hash);
  EXPECT_NE(hash_of(packet_of({.destination = 0xCB007106})), hash);
  EXPECT_NE(hash_of(packet_of({.protocol = kTcp})), hash);
  EXPECT_NE(hash_of(packet_of({.source_port = 1025})), hash);
  EXPECT_NE(hash_of(packet_of({.destination_port = 54})), hash);
  EXPECT_NE(hash_of(packet_of({}), 2), hash);
}

TEST(Ipv4FlowHash, TakesPortsOnlyWhereThereAreSome) {
  EXPECT_EQ(hash_of(packet_of({.protocol = kIcmp, .source_port = 1})),
            hash_of(packet_of({.protocol = kIcmp, .source_port = 2})));
  // A truncated packet has no readable ports: at most three of the four bytes are present.
  for (std::size_t payload = 0; payload < 4; ++payload) {
    for (std::size_t words = 5; words <= 15; ++words) {
      EXPECT_EQ(hash_of(packet_of({.source_port = 1}, payload, words)),
                hash_of(packet_of({.source_port = 2}, payload, words)));
    }
  }
  // The header length exceeds the packet.
  Bytes packet = packet_of({}, 0);
  packet[0] = 0x4F;
  EXPECT_EQ(hash_of(packet), hash_of(packet_of({}, 0)));
}

/// Hashes choose a bucket by their high bits (hash * buckets >> 32) and by their remainder; the flows differ only
/// slightly.
TEST(Ipv4FlowHash, SpreadsSimilarFlowsEvenly) {
  constexpr std::size_t kFlows = 20'000;
  const std::vector<std::function<Flow(std::uint32_t)>> families{
      [](std::uint32_t i) { return Flow{.source = 0x0A000000 + i}; },
      [](std::uint32_t i) { return Flow{.destination = 0x0A000000 + (i << 8)}; },
      [](std::uint32_t i) { return Flow{.source_port = static_cast<std::uint16_t>(1024 + i)}; },
      [](std::uint32_t i) {
        return Flow{.source = 0x0A000000 + i % 256, .destination = 0xC0000200 + i / 256, .protocol = kTcp};
      }};
  for (std::size_t family = 0; family < families.size(); ++family) {
    for (const std::size_t buckets : {2U, 3U, 4U, 7U, 16U, 256U}) {
      for (const std::uint32_t seed : {0U, 1U, 0x12345678U}) {
        const auto hash = [&](std::size_t i) {
          return hash_of(packet_of(families[family](static_cast<std::uint32_t>(i))), seed);
        };
        // A hash that is more even than a random one is as good, so the bound is one-sided.
        EXPECT_LT(chi_square_deviation(buckets, kFlows, [&](std::size_t i) { return hash(i) * buckets >> 32; }), 5)
            << "high bits, family " << family << ", buckets " << buckets << ", seed " << seed;
        EXPECT_LT(chi_square_deviation(buckets, kFlows, [&](std::size_t i) { return hash(i) % buckets; }), 5)
            << "remainder, family " << family << ", buckets " << buckets << ", seed " << seed;
      }
    }
  }
}

/// Flows that one seed sends to one bucket must still be spread by another seed.
TEST(Ipv4FlowHash, TwoSeedsChooseIndependently) {
  constexpr std::size_t kWays = 4;
  std::vector<std::uint32_t> survivors;
  for (std::uint32_t i = 0; survivors.size() < 5'000; ++i) {
    const Flow flow{.source = 0x0A000000 + i};
    if (std::uint64_t{hash_of(packet_of(flow), 1)} * kWays >> 32 == 2) survivors.push_back(i);
  }
  EXPECT_LT(chi_square_deviation(kWays, survivors.size(),
                                 [&](std::size_t i) {
                                   const Flow flow{.source = 0x0A000000 + survivors[i]};
                                   return std::uint64_t{hash_of(packet_of(flow), 2)} * kWays >> 32;
                                 }),
            5);
}

}  // namespace
}  // namespace penumbra
