// SPDX-License-Identifier: Apache-2.0
#include "io/traffic.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "io/traffic_testing.h"

namespace penumbra::io {
namespace {

using test::checksum;
using test::Frame;
using test::frame_of;
using test::number;

std::uint32_t source_of(const Frame& frame) {
  return number(frame, 26, 4);
}
std::uint32_t destination_of(const Frame& frame) {
  return number(frame, 30, 4);
}

bool header_is_right(const Frame& frame) {
  return checksum({frame.begin() + 14, frame.begin() + 34}) == 0;
}
bool transport_is_right(const Frame& frame) {
  std::vector<std::uint8_t> bytes(frame.begin() + 26, frame.begin() + 34);
  const auto length = static_cast<std::uint16_t>(frame.size() - 34);
  bytes.insert(bytes.end(), {0, frame[23], static_cast<std::uint8_t>(length >> 8), static_cast<std::uint8_t>(length)});
  bytes.insert(bytes.end(), frame.begin() + 34, frame.end());
  return checksum(bytes) == 0;
}

TEST(Traffic, IsTheSameEachTimeAndOtherForAnotherSeed) {
  const Traffic first(control::SynthSource{}), again(control::SynthSource{});
  control::SynthSource other_source;
  other_source.seed = 2;
  const Traffic other(other_source);
  int same = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(frame_of(first, i), frame_of(again, i));
    if (source_of(frame_of(first, i)) == source_of(frame_of(other, i))) ++same;
  }
  EXPECT_LT(same, 10);
}

// The expected value must not change between machines or compilers.
TEST(Traffic, IsTheSameOnEveryMachine) {
  std::uint64_t hash = 14695981039346656037U;
  control::SynthSource source;
  source.frame_bytes = 0;
  const Traffic traffic(source, TrafficMix{.odd_share = 0.3});
  for (std::uint64_t i = 0; i < 1000; ++i) {
    for (const std::uint8_t byte : frame_of(traffic, i)) hash = (hash ^ byte) * 1099511628211U;
  }
  EXPECT_EQ(hash, 2674331754551614803U);
}

TEST(Traffic, IsWellFormed) {
  for (const std::uint16_t bytes : {60, 61, 590, 1514, 9214, 0}) {
    control::SynthSource source;
    source.frame_bytes = bytes;
    const Traffic traffic(source);
    std::set<std::size_t> sizes;
    std::set<std::uint8_t> protocols;
    for (std::uint64_t i = 0; i < 500; ++i) {
      const Frame frame = frame_of(traffic, i);
      sizes.insert(frame.size());
      ASSERT_EQ(number(frame, 12, 2), 0x0800U);
      ASSERT_EQ(frame[14], 0x45);
      ASSERT_EQ(number(frame, 16, 2), frame.size() - 14);
      ASSERT_GE(frame[22], 2);
      ASSERT_TRUE(header_is_right(frame));
      ASSERT_TRUE(transport_is_right(frame));
      protocols.insert(frame[23]);
      const std::size_t payload = 34 + (frame[23] == 6 ? 20 : 8);
      ASSERT_EQ(number(frame, payload, 2), 0U);
      ASSERT_EQ(number(frame, payload + 2, 4), i);
      for (const std::uint32_t address : {source_of(frame), destination_of(frame)}) {
        ASSERT_TRUE(address >= 1U << 24 && address < 224U << 24 && address >> 24 != 127);
      }
    }
    EXPECT_EQ(protocols, (std::set<std::uint8_t>{6, 17}));
    EXPECT_EQ(sizes, bytes == 0 ? (std::set<std::size_t>{60, 590, 1514}) : (std::set<std::size_t>{bytes}));
  }
}

TEST(Traffic, ReachesEveryCornerOfTheUnicastAddresses) {
  const Traffic traffic(control::SynthSource{});
  std::map<std::uint32_t, int> slash8;
  constexpr int kFrames = 22200;
  for (std::uint64_t i = 0; i < kFrames; ++i) ++slash8[destination_of(frame_of(traffic, i)) >> 24];
  EXPECT_EQ(slash8.size(), 222U);
  for (const auto& [first, count] : slash8) EXPECT_NEAR(count, 100, 60) << first;  // Six standard deviations.
}

TEST(Traffic, StaysInThePrefixes) {
  const std::vector<Ipv4Prefix> prefixes{{{0x0A000000}, 8}, {{0xC0000200}, 24}, {{0xC6336401}, 32}, {{0}, 0}};
  control::SynthSource source;
  source.destinations = control::SynthSource::Destinations::prefixes;
  const Traffic traffic(source, std::vector(prefixes.begin(), prefixes.begin() + 3));
  std::array<int, 3> counts{};
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const Ipv4Address destination{destination_of(frame_of(traffic, i))};
    int matches = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      if (!prefixes[k].contains(destination)) continue;
      ++counts[k];
      ++matches;
    }
    ASSERT_EQ(matches, 1);
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 160);
  const Traffic everywhere(source, std::vector{prefixes[3]});
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_NE(destination_of(frame_of(everywhere, i)) >> 24, 0U);
}

TEST(Traffic, FollowsZipf) {
  control::SynthSource source;
  source.destinations = control::SynthSource::Destinations::zipf;
  source.flows = 100;
  const Traffic traffic(source);
  std::map<std::string, int> counts;  // Keyed by addresses, protocol and ports.
  constexpr int kFrames = 50000;
  for (std::uint64_t i = 0; i < kFrames; ++i) {
    const Frame frame = frame_of(traffic, i);
    std::string key(frame.begin() + 26, frame.begin() + 38);
    key.push_back(static_cast<char>(frame[23]));
    ++counts[key];
  }
  ASSERT_EQ(counts.size(), 100U);
  std::multiset<int, std::greater<>> ranked;
  for (const auto& [key, count] : counts) ranked.insert(count);
  double harmonic = 0;
  for (int k = 1; k <= 100; ++k) harmonic += 1.0 / k;
  int rank = 1;
  for (const int count : ranked) {
    const double expected = kFrames / harmonic / rank++;
    EXPECT_NEAR(count, expected, 6 * std::sqrt(expected) + 10);
  }
}

TEST(Traffic, MixesInTheShareOfOddPackets) {
  constexpr int kFrames = 20000;
  const Traffic traffic(control::SynthSource{}, TrafficMix{.odd_share = 0.25});
  int odd = 0;
  std::set<std::string> kinds;
  for (std::uint64_t i = 0; i < kFrames; ++i) {
    const Frame frame = frame_of(traffic, i);
    ASSERT_LE(frame.size(), 60U);
    ASSERT_GE(frame.size(), 1U);
    const auto see = [&](const std::string& kind) {
      ++odd;
      kinds.insert(kind);
    };
    if (frame.size() < 14) {
      see("runt");
    } else if (number(frame, 12, 2) != 0x0800) {
      see("ethertype " + std::to_string(number(frame, 12, 2)));
    } else if (frame.size() < 34) {
      see("header cut");
    } else if (frame.size() < 60) {
      see("packet cut");
    } else if (frame[14] != 0x45) {
      see("first byte " + std::to_string(frame[14]));
    } else if (!header_is_right(frame)) {
      see("checksum");
    } else if (number(frame, 16, 2) != 46) {
      see(number(frame, 16, 2) < 46 ? "short" : "long");
    } else if (frame[22] < 2) {
      see(frame[22] == 0 ? "ttl 0" : "ttl 1");
    } else if (number(frame, 20, 2) != 0) {
      see(frame[20] == 0x20 ? "first fragment" : "later fragment");
    } else if (source_of(frame) >> 24 == 0 || source_of(frame) >> 24 == 127 || source_of(frame) >= 224U << 24) {
      see("source " + std::to_string(source_of(frame) >> 28));
    } else if (destination_of(frame) >> 24 == 0 || destination_of(frame) >> 24 == 127 ||
               destination_of(frame) >= 224U << 24) {
      see("destination " + std::to_string(destination_of(frame) >> 28));
    } else if (frame[0] == 0xFF) {
      see("link broadcast");
    }
  }
  EXPECT_NEAR(odd, kFrames * 0.25, 400);
  EXPECT_GE(kinds.size(), 28U);
}

TEST(Traffic, NeedsARoute) {
  control::SynthSource source;
  source.destinations = control::SynthSource::Destinations::prefixes;
  source.routes = "/nowhere/routes.txt";
  EXPECT_THROW(Traffic{source}, InputError);
}

}  // namespace
}  // namespace penumbra::io
