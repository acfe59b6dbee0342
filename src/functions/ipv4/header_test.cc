// SPDX-License-Identifier: Apache-2.0
#include "functions/ipv4/header.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include "functions/ipv4/oracle.h"

namespace penumbra::ipv4 {
namespace {

using oracle::Bytes;

constexpr MacAddress kOwnMac{0x020000000001};

std::string name_of(Outcome outcome) {
  return outcome == Outcome::forward ? "" : outcome_reasons()[static_cast<std::size_t>(outcome)].name;
}

std::string inspected(const Bytes& frame, bool promiscuous) {
  // Memory that ends with the frame lets AddressSanitizer detect reads past the end.
  const Bytes exact(frame.begin(), frame.end());
  return name_of(inspect(exact.data(), exact.size(), exact.size(), StationFilter(kOwnMac, promiscuous)));
}

/// Returns a frame that passes all checks.
Bytes good_frame(std::size_t payload_bytes) {
  Bytes frame{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 9, 9, 8, 0, 0x45, 0};
  function_testing::append(frame, 20 + payload_bytes, 2);
  frame.insert(frame.end(), {0x12, 52, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 7});
  frame.insert(frame.end(), payload_bytes, 0xA5);
  oracle::fix_checksum(frame);
  return frame;
}

TEST(Header, TakesAGoodPacket) {
  EXPECT_EQ(inspected(good_frame(0), false), "");
  EXPECT_EQ(inspected(good_frame(1480), true), "");
}

TEST(Header, NamesEachFault) {
  const auto with = [](std::size_t at, std::initializer_list<std::uint8_t> bytes, bool valid_checksum = true) {
    Bytes frame = good_frame(40);
    std::copy(bytes.begin(), bytes.end(), frame.begin() + static_cast<std::ptrdiff_t>(at));
    if (valid_checksum) oracle::fix_checksum(frame);
    return inspected(frame, false);
  };
  const auto cut = [](std::size_t bytes) {
    Bytes frame = good_frame(40);
    frame.resize(bytes);
    return inspected(frame, false);
  };
  EXPECT_EQ(cut(0), "runt");
  EXPECT_EQ(cut(13), "runt");
  EXPECT_EQ(cut(14), "truncated");
  EXPECT_EQ(cut(33), "truncated");
  EXPECT_EQ(cut(73), "truncated");
  EXPECT_EQ(with(5, {2}), "wrong_mac");
  EXPECT_EQ(with(12, {8, 6}), "arp");
  EXPECT_EQ(with(12, {0x86, 0xDD}), "ipv6");
  EXPECT_EQ(with(12, {0x81, 0}), "other_ethertype");
  const auto ipv6 = [](std::uint8_t next_header, std::uint8_t hop_limit, std::uint8_t type, std::uint16_t destination) {
    Bytes frame = good_frame(60);
    frame[12] = 0x86;
    frame[13] = 0xDD;
    frame[20] = next_header;
    frame[21] = hop_limit;
    frame[38] = static_cast<std::uint8_t>(destination >> 8);
    frame[39] = static_cast<std::uint8_t>(destination);
    frame[54] = type;
    return inspected(frame, false);
  };
  EXPECT_EQ(ipv6(58, 255, 133, 0x2001), "ipv6_neighbour_discovery");
  EXPECT_EQ(ipv6(58, 255, 137, 0xFF02), "ipv6_neighbour_discovery");
  EXPECT_EQ(ipv6(58, 254, 135, 0x2001), "ipv6") << "it came through a router";
  EXPECT_EQ(ipv6(58, 255, 128, 0x2001), "ipv6");
  EXPECT_EQ(ipv6(58, 255, 132, 0xFE80), "ipv6_link");
  EXPECT_EQ(ipv6(58, 255, 138, 0xFEBF), "ipv6_link");
  EXPECT_EQ(ipv6(89, 1, 135, 0xFF02), "ipv6_link");
  EXPECT_EQ(ipv6(6, 255, 135, 0xFEC0), "ipv6");
  EXPECT_EQ(ipv6(6, 255, 135, 0xFE7F), "ipv6");
  EXPECT_EQ(with(12, {0, 46}), "other_ethertype");
  EXPECT_EQ(with(14, {0x65}), "bad_version");
  EXPECT_EQ(with(14, {0x44}), "bad_header_length");
  EXPECT_EQ(with(16, {0, 19}), "bad_total_length");
  EXPECT_EQ(with(14, {0x46, 0, 0, 23}), "bad_total_length");
  EXPECT_EQ(with(16, {0, 61}), "truncated");
  EXPECT_EQ(with(24, {0, 0}, false), "bad_checksum");
  EXPECT_EQ(with(30, {255, 255, 255, 255}), "broadcast");
  EXPECT_EQ(with(30, {239, 1, 2, 3}), "multicast");
  EXPECT_EQ(with(26, {127, 0, 0, 1}), "martian_source");
  EXPECT_EQ(with(26, {127, 0, 0, 1, 255, 255, 255, 255}), "martian_source") << "not even to all";
  EXPECT_EQ(with(26, {224, 0, 0, 1, 224, 0, 0, 1}), "martian_source");
  EXPECT_EQ(with(26, {0, 0, 0, 1, 255, 255, 255, 255}), "martian_source");
  EXPECT_EQ(with(26, {0, 0, 0, 0, 255, 255, 255, 255}), "broadcast") << "as DHCP asks for an address";
  EXPECT_EQ(with(26, {0, 0, 0, 0, 224, 0, 0, 22}), "multicast") << "as IGMP reports without one";
  EXPECT_EQ(with(26, {0, 0, 0, 0}), "martian_source");
  EXPECT_EQ(with(26, {255, 255, 255, 255}), "martian_source");
  EXPECT_EQ(with(30, {0, 0, 0, 1}), "martian_destination");
  EXPECT_EQ(with(30, {240, 0, 0, 1}), "martian_destination");
  EXPECT_EQ(with(0, {255, 255, 255, 255, 255, 255}), "link_broadcast");
  EXPECT_EQ(with(14, {0x46}), "options");
  EXPECT_EQ(with(26, {169, 254, 0, 1}), "") << "link-local addresses are forwarded";
}

TEST(Header, BothFormsOfAZeroChecksumAreRight) {
  Bytes frame = good_frame(0);
  frame[18] = frame[19] = 0;
  oracle::fix_checksum(frame);
  frame[18] = frame[24];  // the identification takes the value of the checksum
  frame[19] = frame[25];
  frame[24] = frame[25] = 0;
  EXPECT_EQ(inspected(frame, false), "");
  frame[24] = frame[25] = 0xFF;
  EXPECT_EQ(inspected(frame, false), "");
  frame[25] = 0xFE;
  EXPECT_EQ(inspected(frame, false), "bad_checksum");
}

TEST(Header, WhatLiesInALaterSegmentIsNotRead) {
  const Bytes frame = good_frame(100);
  const StationFilter station(kOwnMac, false);
  for (std::size_t readable = 0; readable <= frame.size(); ++readable) {
    const Bytes exact(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(readable));
    const Outcome wanted = readable < 14 ? Outcome::runt : readable < 34 ? Outcome::truncated : Outcome::forward;
    EXPECT_EQ(inspect(exact.data(), readable, frame.size(), station), wanted) << readable;
  }
}

/// Changes bytes of the header at random. Usually corrects the checksum, so that later checks are reached too.
Bytes mutated(Bytes frame, std::mt19937_64& random) {
  constexpr std::uint8_t kLiked[]{0, 1, 8, 6, 0x45, 0x46, 0x4F, 127, 128, 223, 224, 239, 240, 255};
  for (auto changes = random() % 4; changes > 0; --changes) {
    const std::size_t at = random() % 36;
    if (at < frame.size()) frame[at] = random() % 2 == 0 ? kLiked[random() % std::size(kLiked)] : random() % 256;
  }
  const auto sometimes = [&](std::size_t at, const Bytes& bytes) {
    if (random() % 64 != 0 || frame.size() < at + bytes.size()) return;
    std::copy(bytes.begin(), bytes.end(), frame.begin() + static_cast<std::ptrdiff_t>(at));
  };
  sometimes(12, {0x86, 0xDD});
  sometimes(20, {58, 255});
  sometimes(38, {0xFE, 0x80});
  if (frame.size() > 54 && random() % 2 == 0) frame[54] = static_cast<std::uint8_t>(130 + random() % 10);
  sometimes(12, {0x08, 0x06});
  sometimes(30, {255, 255, 255, 255});
  if (random() % 4 == 0) frame.resize(random() % (frame.size() + 20));
  if (random() % 8 != 0 && frame.size() >= 34) oracle::fix_checksum(frame);
  return frame;
}

TEST(Header, AgreesWithTheOracleOnMutatedFrames) {
  std::mt19937_64 random(1812);
  std::map<std::string, int> seen;
  for (int i = 0; i < 300'000; ++i) {
    const Bytes frame = mutated(good_frame(random() % 60), random);
    const bool promiscuous = random() % 2 == 0;
    const std::string wanted = oracle::objection(frame, kOwnMac.value, promiscuous).value_or("");
    ASSERT_EQ(inspected(frame, promiscuous), wanted) << testing::PrintToString(frame);
    ++seen[wanted];
  }
  for (std::size_t i = 0; i <= static_cast<std::size_t>(Outcome::options); ++i) {
    EXPECT_GT(seen[outcome_reasons()[i].name], 0) << outcome_reasons()[i].name;
  }
  EXPECT_GT(seen[""], 0);
}

void expect_recomputed(Bytes frame) {
  Bytes expected = frame;
  --expected[22];
  oracle::fix_checksum(expected);
  decrement_ttl(frame.data() + 14);
  ASSERT_EQ(frame, expected);
}

TEST(Header, IncrementalChecksumEqualsRecomputationForEveryTtl) {
  std::mt19937_64 random(1624);
  for (int header = 0; header < 300; ++header) {
    for (unsigned ttl = 1; ttl < 256; ++ttl) {
      Bytes frame = good_frame(0);
      for (const std::size_t at : {15U, 18U, 19U, 23U, 26U, 27U, 28U, 29U, 30U, 31U, 32U, 33U}) {
        frame[at] = static_cast<std::uint8_t>(random());
      }
      frame[22] = static_cast<std::uint8_t>(ttl);
      oracle::fix_checksum(frame);
      expect_recomputed(frame);
    }
  }
}

TEST(Header, IncrementalChecksumEqualsRecomputationForEveryChecksum) {
  std::set<unsigned> seen;
  for (const std::uint8_t ttl : {1, 2, 64, 255}) {
    for (unsigned id = 0; id < 65536; ++id) {
      Bytes frame = good_frame(0);
      frame[18] = static_cast<std::uint8_t>(id >> 8);
      frame[19] = static_cast<std::uint8_t>(id);
      frame[22] = ttl;
      oracle::fix_checksum(frame);
      seen.insert(oracle::word(frame, 24));
      expect_recomputed(frame);
      if (oracle::word(frame, 24) != 0) continue;
      frame[24] = frame[25] = 0xFF;  // the other form of zero
      expect_recomputed(frame);
    }
  }
  EXPECT_EQ(seen.size(), 65535U) << "all but 0xFFFF, which no sum gives";
}

}  // namespace
}  // namespace penumbra::ipv4
