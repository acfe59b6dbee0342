// SPDX-License-Identifier: Apache-2.0
//
// Tests IPv6 streams. traffic_test.cc has the tests for both families.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "io/traffic.h"
#include "io/traffic_testing.h"

namespace penumbra::io {
namespace {

using test::checksum;
using test::Frame;
using test::frame_of;
using test::number;

control::SynthSource ipv6_source(std::uint16_t frame_bytes = 62) {
  control::SynthSource source;
  source.ipv6 = true;
  source.frame_bytes = frame_bytes;
  return source;
}

Ipv6Address address_at(const Frame& frame, std::size_t at) {
  const auto half = [&](std::size_t from) {
    return std::uint64_t{number(frame, from, 4)} << 32 | number(frame, from + 4, 4);
  };
  return {half(at), half(at + 8)};
}
Ipv6Address ipv6_source_of(const Frame& frame) {
  return address_at(frame, 22);
}
Ipv6Address ipv6_destination_of(const Frame& frame) {
  return address_at(frame, 38);
}

/// Returns the checksum of UDP or ICMPv6 over the pseudo header of RFC 8200, section 8.1. 0 means that the packet's
/// checksum is right.
std::uint16_t segment_checksum(const Frame& frame) {
  std::vector<std::uint8_t> bytes(frame.begin() + 22, frame.begin() + 54);
  bytes.insert(bytes.end(), {0, 0, frame[18], frame[19], 0, 0, 0, frame[20]});
  bytes.insert(bytes.end(), frame.begin() + 54, frame.end());
  return checksum(bytes);
}

// The expected value must not change between machines or compilers.
TEST(Ipv6Traffic, IsTheSameOnEveryMachine) {
  std::uint64_t hash = 14695981039346656037U;
  const Traffic traffic(ipv6_source(0), TrafficMix{.odd_share = 0.3});
  for (std::uint64_t i = 0; i < 1000; ++i) {
    for (const std::uint8_t byte : frame_of(traffic, i)) hash = (hash ^ byte) * 1099511628211U;
  }
  EXPECT_EQ(hash, 9419026433377653795U);
}

TEST(Ipv6Traffic, IsWellFormed) {
  for (const std::uint16_t bytes : {62, 63, 67, 68, 590, 1514, 9214, 0}) {
    const Traffic traffic(ipv6_source(bytes));
    std::set<std::size_t> sizes;
    int labelled = 0;
    for (std::uint64_t i = 0; i < 500; ++i) {
      const Frame frame = frame_of(traffic, i);
      sizes.insert(frame.size());
      ASSERT_EQ(number(frame, 12, 2), 0x86DDU);
      ASSERT_EQ(number(frame, 14, 4) >> 20, 0x600U);
      labelled += (number(frame, 14, 4) & 0xFFFFF) != 0 ? 1 : 0;
      ASSERT_EQ(number(frame, 18, 2), frame.size() - 54);
      ASSERT_EQ(frame[20], 17);
      ASSERT_GE(frame[21], 2);
      ASSERT_EQ(number(frame, 58, 2), frame.size() - 54);
      ASSERT_NE(number(frame, 60, 2), 0U);  // The checksum is mandatory in IPv6.
      ASSERT_EQ(segment_checksum(frame), 0);
      if (frame.size() >= 68) {
        ASSERT_EQ(number(frame, 62, 2), 0U);
        ASSERT_EQ(number(frame, 64, 4), i);
      }
      ASSERT_EQ(ipv6_source_of(frame).high >> 61, 1U);
      ASSERT_EQ(ipv6_destination_of(frame).high >> 61, 1U);
    }
    EXPECT_NEAR(labelled, 375, 60);  // Six standard deviations.
    EXPECT_EQ(sizes, bytes == 0 ? (std::set<std::size_t>{62, 590, 1514}) : (std::set<std::size_t>{bytes}));
  }
}

TEST(Ipv6Traffic, ReachesEveryCornerOfTheGlobalAddresses) {
  const Traffic traffic(ipv6_source());
  std::map<std::uint64_t, int> slash8;
  constexpr int kFrames = 3200;
  Ipv6Address set, clear;
  for (std::uint64_t i = 0; i < kFrames; ++i) {
    const Ipv6Address destination = ipv6_destination_of(frame_of(traffic, i));
    ++slash8[destination.high >> 56];
    set = {set.high | destination.high, set.low | destination.low};
    clear = {clear.high | ~destination.high, clear.low | ~destination.low};
  }
  EXPECT_EQ(slash8.size(), 32U);
  for (const auto& [first, count] : slash8) EXPECT_NEAR(count, 100, 60) << first;
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  EXPECT_EQ(set, (Ipv6Address{kAll >> 2, kAll}));
  EXPECT_EQ(clear, (Ipv6Address{kAll ^ std::uint64_t{1} << 61, kAll}));
}

TEST(Ipv6Traffic, StaysInThePrefixes) {
  const std::vector<Ipv6Prefix> prefixes{{{0x20010DB8'00000000, 0}, 32},
                                         {{0x20010DB9'00000000, 0}, 64},
                                         {{0x20010DB9'00000001, 0x1234'5678'0000'0000}, 96},
                                         {{0xFC00'0000'0000'0000, 7}, 128}};
  control::SynthSource source = ipv6_source();
  source.destinations = control::SynthSource::Destinations::prefixes;
  const Traffic traffic(source, prefixes);
  std::array<int, 4> counts{};
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const Ipv6Address destination = ipv6_destination_of(frame_of(traffic, i));
    int matches = 0;
    for (std::size_t k = 0; k < prefixes.size(); ++k) {
      if (!prefixes[k].contains(destination)) continue;
      ++counts[k];
      ++matches;
    }
    ASSERT_EQ(matches, 1);
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 160);
  const Traffic everywhere(source, std::vector{Ipv6Prefix{}});
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const Ipv6Address destination = ipv6_destination_of(frame_of(everywhere, i));
    ASSERT_TRUE(destination.is_unicast() && !destination.is_link_local());
  }
}

TEST(Ipv6Traffic, KeepsAFlowsAddressesPortsAndLabel) {
  control::SynthSource source = ipv6_source();
  source.destinations = control::SynthSource::Destinations::zipf;
  source.flows = 100;
  const Traffic traffic(source);
  std::set<std::string> flows, addresses;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const Frame frame = frame_of(traffic, i);
    addresses.emplace(frame.begin() + 22, frame.begin() + 54);
    flows.emplace(std::string(frame.begin() + 14, frame.begin() + 18) +
                  std::string(frame.begin() + 22, frame.begin() + 58));
  }
  EXPECT_EQ(addresses.size(), 100U);
  EXPECT_EQ(flows.size(), 100U);
}

/// Describes an address outside 2000::/3.
std::string kind_of(Ipv6Address address) {
  if (address == Ipv6Address{}) return "of nobody";
  if (address == Ipv6Address{0, 1}) return "loopback";
  return "begins with " + std::to_string(address.high >> 48);
}

/// Returns the oddity of a frame of 62 bytes, or "" if there is none.
std::string oddity_of(const Frame& frame) {
  const auto name = [](const char* what, std::uint64_t value) { return what + std::to_string(value); };
  if (frame.size() < 14) return "runt";
  if (number(frame, 12, 2) != 0x86DD) return name("ethertype ", number(frame, 12, 2));
  if (frame.size() < 54) return "header cut";
  if (frame.size() < 62) return "packet cut";
  if (frame[14] >> 4 != 6) return name("version ", frame[14] >> 4);
  if (number(frame, 14, 4) == 0x6FFFFFFF) return "class and label";
  if (frame[20] == 0 && number(frame, 18, 2) == 0) return "jumbogram";
  if (number(frame, 18, 2) != 8) return number(frame, 18, 2) < 8 ? "short" : name("long ", number(frame, 18, 2));
  if (frame[21] < 2) return name("hop limit ", frame[21]);
  const Ipv6Address source = ipv6_source_of(frame), destination = ipv6_destination_of(frame);
  if (frame[20] == 58) {
    EXPECT_EQ(segment_checksum(frame), 0);
    return name("solicitation with hop limit ", frame[21]) + (destination.is_multicast() ? " to routers" : "") +
           (source == Ipv6Address{} ? " from nobody" : "");
  }
  if (frame[20] == 44) return number(frame, 56, 2) == 1 ? "first fragment" : "later fragment";
  if (frame[20] != 17) return name("next header ", frame[20]);
  if (source == Ipv6Address{} && destination.is_multicast()) return "from nobody to a group";
  if (source.high >> 61 != 1) return "source " + kind_of(source);
  if (destination.is_multicast()) return name("group of scope ", destination.high >> 48 & 0xF);
  if (destination.high >> 61 != 1) return "destination " + kind_of(destination);
  if (frame[0] % 2 == 1) return name("to stations ", frame[0]);
  return "";
}

TEST(Ipv6Traffic, MixesInTheShareOfOddPackets) {
  constexpr int kFrames = 20000;
  const Traffic traffic(ipv6_source(), TrafficMix{.odd_share = 0.25});
  std::map<std::string, int> kinds;
  for (std::uint64_t i = 0; i < kFrames; ++i) {
    const Frame frame = frame_of(traffic, i);
    ASSERT_LE(frame.size(), 62U);
    ASSERT_GE(frame.size(), 1U);
    ++kinds[oddity_of(frame)];
  }
  EXPECT_NEAR(kFrames - kinds[""], kFrames * 0.25, 400);
  EXPECT_EQ(kinds.size(), 1 + 43U) << testing::PrintToString(kinds);
}

}  // namespace
}  // namespace penumbra::io
