// SPDX-License-Identifier: Apache-2.0
#include "functions/ipv6/header.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "functions/ipv6/testing.h"

namespace penumbra::ipv6 {
namespace {

using namespace testing_support;
using oracle::Bytes;

constexpr MacAddress kOwnMac{0x020000000001};

std::string inspected(const Bytes& frame, bool promiscuous = false) {
  // Memory that ends with the frame lets AddressSanitizer detect reads past the end.
  const Bytes exact(frame.begin(), frame.end());
  const Outcome outcome = inspect(exact.data(), exact.size(), exact.size(), StationFilter(kOwnMac, promiscuous));
  return outcome == Outcome::forward ? "" : outcome_reasons()[static_cast<std::size_t>(outcome)].name;
}

Bytes good_frame(std::size_t payload_bytes) {
  return udp_frame(ip("2001:db8::1"), ip("2001:db8:9::1"), 64, payload_bytes);
}

TEST(Ipv6Header, NamesEachFault) {
  EXPECT_EQ(inspected(good_frame(4)), "");
  EXPECT_EQ(inspected(good_frame(1460)), "");
  const auto with = [](std::size_t at, const Bytes& bytes) {
    Bytes frame = good_frame(40);
    std::copy(bytes.begin(), bytes.end(), frame.begin() + static_cast<std::ptrdiff_t>(at));
    return inspected(frame);
  };
  const auto cut = [](std::size_t bytes) {
    Bytes frame = good_frame(40);
    frame.resize(bytes);
    return inspected(frame);
  };
  EXPECT_EQ(cut(0), "runt");
  EXPECT_EQ(cut(13), "runt");
  EXPECT_EQ(cut(14), "truncated");
  EXPECT_EQ(cut(53), "truncated");
  EXPECT_EQ(cut(93), "truncated");
  EXPECT_EQ(cut(200), "") << "padding";
  EXPECT_EQ(with(5, {2}), "wrong_mac");
  EXPECT_EQ(with(12, {8, 6}), "arp");
  EXPECT_EQ(with(12, {8, 0}), "ipv4");
  EXPECT_EQ(with(12, {0x81, 0}), "other_ethertype");
  EXPECT_EQ(with(14, {0x45}), "bad_version");
  EXPECT_EQ(with(18, {0, 41}), "truncated");
  EXPECT_EQ(with(18, {0, 39}), "");
  EXPECT_EQ(with(18, {0, 0, 0}), "bad_payload_length");
  EXPECT_EQ(with(18, {0, 0, 59}), "") << "no next header";
  EXPECT_EQ(with(20, {0}), "") << "hop-by-hop options are not this router's";
  EXPECT_EQ(with(0, {0x33, 0x33}), "link_group");
}

TEST(Ipv6Header, JudgesAddresses) {
  const auto between = [](const char* source, const char* destination) {
    return inspected(udp_frame(ip(source), ip(destination), 64, 20));
  };
  constexpr const char* kGlobal = "2001:db8::1";
  for (const char* nobody : {"::", "::1", "ff02::1", "::ffff:192.0.2.1"}) {
    EXPECT_EQ(between(nobody, kGlobal), "martian_source") << nobody;
  }
  for (const char* nobody : {"::", "::1", "::ffff:192.0.2.1", "ff00::1", "ff01::1", "ff11::1"}) {
    EXPECT_EQ(between(kGlobal, nobody), "martian_destination") << nobody;
  }
  EXPECT_EQ(between("::1", "ff02::1"), "martian_source");
  EXPECT_EQ(between("::", "ff02::16"), "multicast") << "as MLD reports without an address";
  EXPECT_EQ(between("::", "ff01::1"), "martian_destination");
  for (const char* group : {"ff02::1", "ff05::2", "ff0e::1234", "ff3e::8000:1"}) {
    EXPECT_EQ(between(kGlobal, group), "multicast") << group;
  }
  EXPECT_EQ(between("fe80::1", kGlobal), "link_local") << "the host says that it is beyond the source's scope";
  EXPECT_EQ(between(kGlobal, "fe80::1"), "link_local");
  EXPECT_EQ(between("febf::1", "fe80::1"), "link_local");
  for (const char* ordinary : {"fec0::1", "fc00::1", "fd00::1", "64:ff9b::c000:201", "::2", "::1:2:3", "4000::1"}) {
    EXPECT_EQ(between(ordinary, kGlobal), "") << ordinary;
    EXPECT_EQ(between(kGlobal, ordinary), "") << ordinary;
  }
}

TEST(Ipv6Header, KnowsNeighbourDiscovery) {
  const auto icmp = [](std::uint8_t type, std::uint8_t hop_limit, const char* source, const char* destination,
                       std::uint8_t next_header = 58) {
    return inspected(frame_of(ip(source), ip(destination), next_header, hop_limit, {type, 0, 0, 0}));
  };
  for (const std::uint8_t type : {133, 134, 135, 136, 137}) {
    EXPECT_EQ(icmp(type, 255, "fe80::1", "ff02::1"), "neighbour_discovery");
    EXPECT_EQ(icmp(type, 255, "2001:db8::1", "2001:db8::2"), "neighbour_discovery");
  }
  EXPECT_EQ(icmp(135, 255, "::", "ff02::1:ff00:1"), "neighbour_discovery") << "is my address taken?";
  EXPECT_EQ(icmp(135, 255, "::1", "ff02::1"), "martian_source");
  EXPECT_EQ(icmp(135, 254, "2001:db8::1", "2001:db8::2"), "") << "it came through a router";
  EXPECT_EQ(icmp(135, 254, "fe80::1", "ff02::1"), "multicast");
  EXPECT_EQ(icmp(132, 255, "2001:db8::1", "2001:db8::2"), "");
  EXPECT_EQ(icmp(138, 255, "2001:db8::1", "2001:db8::2"), "");
  EXPECT_EQ(icmp(135, 255, "2001:db8::1", "2001:db8::2", 17), "");
  Bytes empty = frame_of(ip("2001:db8::1"), ip("2001:db8::2"), 58, 255, {});
  EXPECT_EQ(inspected(empty), "");
  empty.push_back(135);
  EXPECT_EQ(inspected(empty), "") << "what follows the packet is none of it";
}

TEST(Ipv6Header, WhatLiesInALaterSegmentIsNotRead) {
  const Bytes frame = good_frame(100);
  const StationFilter station(kOwnMac, false);
  for (std::size_t readable = 0; readable <= frame.size(); ++readable) {
    const Bytes exact(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(readable));
    const Outcome wanted = readable < 14 ? Outcome::runt : readable < 54 ? Outcome::truncated : Outcome::forward;
    EXPECT_EQ(inspect(exact.data(), readable, frame.size(), station), wanted) << readable;
  }
}

/// Changes bytes of the header at random.
Bytes mutated(Bytes frame, std::mt19937_64& random) {
  static const std::vector<std::string> kLiked{"::",      "::1",     "::ffff:0:1", "::1:0:1", "fe80::1",
                                               "febf::1", "fec0::1", "ff00::1",    "ff01::1", "ff02::1"};
  for (const std::size_t at : {22U, 38U}) {
    if (random() % 2 == 0) continue;
    const Ipv6Address address = ip(kLiked[random() % kLiked.size()]);
    for (std::size_t i = 0; i < 16; ++i) {
      frame[at + i] = static_cast<std::uint8_t>((i < 8 ? address.high : address.low) >> (56 - 8 * (i % 8)));
    }
  }
  const auto sometimes = [&](std::uint64_t in, std::size_t at, const Bytes& bytes) {
    if (random() % in == 0) std::copy(bytes.begin(), bytes.end(), frame.begin() + static_cast<std::ptrdiff_t>(at));
  };
  sometimes(8, 20, {58, 255});
  sometimes(8, 20, {0});
  sometimes(16, 18, {0, 0});
  sometimes(32, 12, {8, 6});
  sometimes(32, 12, {8, 0});
  sometimes(64, 0, {0x33, 0x33});
  frame[54] = static_cast<std::uint8_t>(130 + random() % 10);
  for (auto changes = random() % 4 == 0 ? random() % 4 : 0; changes > 0; --changes) {
    frame[random() % 55] = static_cast<std::uint8_t>(random());
  }
  if (random() % 8 == 0) frame.resize(random() % (frame.size() + 20));
  return frame;
}

TEST(Ipv6Header, AgreesWithTheOracleOnMutatedFrames) {
  std::mt19937_64 random(8200);
  std::map<std::string, int> seen;
  for (int i = 0; i < 300'000; ++i) {
    const Bytes frame = mutated(good_frame(4 + random() % 60), random);
    const bool promiscuous = random() % 2 == 0;
    const std::string wanted = oracle::objection(frame, kOwnMac.value, promiscuous).value_or("");
    ASSERT_EQ(inspected(frame, promiscuous), wanted) << testing::PrintToString(frame);
    ++seen[wanted];
  }
  for (std::size_t i = 0; i <= static_cast<std::size_t>(Outcome::link_group); ++i) {
    EXPECT_GT(seen[outcome_reasons()[i].name], 0) << outcome_reasons()[i].name;
  }
  EXPECT_GT(seen[""], 0);
}

}  // namespace
}  // namespace penumbra::ipv6
