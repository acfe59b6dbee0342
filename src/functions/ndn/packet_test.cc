// SPDX-License-Identifier: Apache-2.0
#include "functions/ndn/packet.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "functions/ndn/lp_header.h"
#include "functions/ndn/pit_token.h"
#include "functions/ndn/testing.h"

namespace penumbra::ndn {
namespace {

using testing_support::data;
using testing_support::hop_limit;
using testing_support::interest;
using testing_support::interest_with;
using testing_support::kNackForNoRoute;
using testing_support::kNonce;
using testing_support::lp;
using testing_support::name;
using testing_support::text_of;
using testing_support::tlv;
using testing_support::token;

PacketFault fault_of(const std::string& bytes, bool padded = false) {
  // A vector of the exact size lets sanitizers detect reads past the end.
  const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
  NdnPacket packet;
  return parse_packet(exact, padded, packet);
}

struct Understood {
  PacketFault fault = PacketFault::none;
  PacketKind kind = PacketKind::interest;
  std::string network, uri, token;
  std::uint64_t nack_reason = 0;
  int hop_limit = -1;
};

Understood understood(const std::string& bytes, bool padded = false) {
  NdnPacket packet;
  const PacketFault fault = parse_packet(as_bytes(bytes), padded, packet);
  return {fault,
          packet.kind,
          text_of(packet.network),
          to_uri(packet.name),
          text_of(packet.token),
          packet.nack_reason,
          packet.hop_limit == nullptr ? -1 : *packet.hop_limit};
}

TEST(NdnPacket, UnderstandsBarePackets) {
  const std::string asks =
      interest("/a/b", tlv(0x21, "") + tlv(0x12, "") + kNonce + tlv(0x0C, "\x0F\xA0") + hop_limit(7));
  const Understood first = understood(asks);
  EXPECT_EQ(first.fault, PacketFault::none);
  EXPECT_EQ(first.kind, PacketKind::interest);
  EXPECT_EQ(first.network, asks);
  EXPECT_EQ(first.uri, "/a/b");
  EXPECT_EQ(first.hop_limit, 7);
  EXPECT_EQ(first.token, "");
  const Understood answer = understood(data("/a/b/%01"));
  EXPECT_EQ(answer.fault, PacketFault::none);
  EXPECT_EQ(answer.kind, PacketKind::data);
  EXPECT_EQ(answer.uri, "/a/b/%01");
  const Understood padded = understood(asks + std::string(20, '\0'), true);
  EXPECT_EQ(padded.fault, PacketFault::none);
  EXPECT_EQ(padded.network, asks);
  EXPECT_EQ(fault_of(asks + std::string(20, '\0')), PacketFault::malformed);
}

TEST(NdnPacket, UnderstandsLpPackets) {
  const std::string asks = interest("/a");
  const Understood bare = understood(lp("", asks));
  EXPECT_EQ(bare.fault, PacketFault::none);
  EXPECT_EQ(bare.network, asks);
  const Understood full = understood(lp(tlv(0x51, "12345678") + tlv(0x52, std::string(1, '\0')) + tlv(0x53, "\x01") +
                                            token("t0") + kNackForNoRoute + tlv(0x344, "12345678") +
                                            tlv(0x344, "12345679") + tlv(0x348, "12345678") + tlv(956, "new"),
                                        asks));
  EXPECT_EQ(full.fault, PacketFault::none);
  EXPECT_EQ(full.kind, PacketKind::nack);
  EXPECT_EQ(full.token, "t0");
  EXPECT_EQ(full.nack_reason, 150U);
  EXPECT_EQ(full.uri, "/a");
  EXPECT_EQ(understood(lp(tlv(0x320, ""), asks)).nack_reason, kNackNoReason);
  EXPECT_EQ(understood(lp(token("x"), data("/d"))).kind, PacketKind::data);
}

TEST(NdnPacket, RefusesWhatMayNotBeIgnored) {
  const std::string asks = interest("/a");
  EXPECT_EQ(fault_of(lp(tlv(0x55, "x"), asks)), PacketFault::unknown_lp_field);
  EXPECT_EQ(fault_of(lp(tlv(801, "x"), asks)), PacketFault::unknown_lp_field);
  EXPECT_EQ(fault_of(lp(tlv(960, "x"), asks)), PacketFault::unknown_lp_field);
  EXPECT_EQ(fault_of(lp(tlv(0x53, "\x02"), asks)), PacketFault::fragmented);
  EXPECT_EQ(fault_of(lp(tlv(0x52, "\x01") + tlv(0x53, "\x02"), asks)), PacketFault::fragmented);
  EXPECT_EQ(fault_of(tlv(0x64, tlv(0x344, "12345678"))), PacketFault::idle);
  EXPECT_EQ(fault_of(lp("", "")), PacketFault::idle);
  EXPECT_EQ(fault_of(tlv(0x64, "")), PacketFault::idle);
  EXPECT_EQ(fault_of(tlv(9, name("/a"))), PacketFault::unknown_type);
  EXPECT_EQ(fault_of(lp("", tlv(9, name("/a")))), PacketFault::unknown_type);
  EXPECT_EQ(fault_of(lp("", lp("", asks))), PacketFault::unknown_type) << "one in another";
}

TEST(NdnPacket, RefusesWhatBreaksTheFormat) {
  const std::string asks = interest("/a");
  for (const std::string& bytes : std::vector<std::string>{
           "",
           "\x05",
           "\x05\x06" + name("/a"),
           interest("/"),
           tlv(5, kNonce),
           tlv(5, kNonce + name("/a")),
           tlv(5, name("/a") + name("/b")),
           interest("/a", tlv(0x21, "x")),
           interest("/a", tlv(0x12, "x")),
           interest("/a", tlv(0x0A, "abc")),
           interest("/a", tlv(0x0C, "abc")),
           interest("/a", tlv(0x22, "ab")),
           interest("/a", tlv(0x22, "")),
           interest("/a", kNonce + tlv(0x12, "")),
           interest("/a", tlv(3, "")),
           interest("/a", tlv(255, "")),
           interest("/a", kNonce + "\x0C"),
           tlv(5, tlv(7, std::string("\0\0", 2))),
           tlv(5, tlv(7, "\x01\x01x")),
           tlv(5, tlv(7, std::string("\xFD\x00\x08\x01x", 5))),
           std::string("\xFD\x00\x05", 3) + tlv(0, name("/a")).substr(1),
           tlv(6, name("/a")),
           tlv(6, name("/a") + tlv(0x15, "x") + tlv(0x17, "x")),
           tlv(6, tlv(0x15, "x") + name("/a")),
           lp(token(""), asks),
           lp(token(std::string(33, 't')), asks),
           lp(kNackForNoRoute, data("/a")),
           lp(tlv(0x320, tlv(0x321, "abc")), asks),
           lp(tlv(0x320, tlv(0x323, "")), asks),
           lp(kNackForNoRoute + token("t"), asks),
           lp(token("t") + token("t"), asks),
           lp(tlv(0x51, "1"), asks),
           lp(tlv(0x52, "\x01"), asks),
           lp(tlv(0x52, "\x02") + tlv(0x53, "\x02"), asks),
           lp(tlv(0x52, "12345678") + tlv(0x53, "\x02"), asks),
           tlv(0x64, tlv(0x52, "\x01")),
           lp(tlv(0x53, std::string(1, '\0')), asks),
           lp("", asks + "x"),
           tlv(0x64, tlv(0x50, asks) + token("t")),
           lp("", asks) + "x",
       }) {
    EXPECT_EQ(fault_of(bytes), PacketFault::malformed) << testing::PrintToString(bytes);
  }
}

TEST(NdnPacket, IgnoresWhatMayBeIgnored) {
  EXPECT_EQ(fault_of(interest("/a", tlv(32, "x") + kNonce + tlv(254, ""))), PacketFault::none);
  EXPECT_EQ(understood(interest_with("/a", tlv(0x24, "parameters") + hop_limit(9))).hop_limit, -1) << "out of order";
}

/// The rules are in NDN Packet Format Specification 0.3, "Name" and "Interest Packet".
TEST(NdnPacket, HoldsParametersAgainstTheirDigest) {
  const std::string parameters = tlv(0x24, "xyz"), signature = tlv(0x2C, "info") + tlv(0x2E, "value");
  const std::string digest(32, 'd');
  EXPECT_EQ(fault_of(interest_with("/a/b", parameters)), PacketFault::none);
  EXPECT_EQ(fault_of(interest_with("/", tlv(0x24, ""))), PacketFault::none);
  const std::string full = interest_with("/a", parameters + signature + tlv(254, "new"), kNonce + hop_limit(2));
  EXPECT_EQ(fault_of(full), PacketFault::none);
  for (std::size_t at = full.find(parameters); at < full.size(); ++at) {
    std::string other = full;
    other[at] = static_cast<char>(other[at] ^ 1);
    EXPECT_NE(fault_of(other), PacketFault::none) << at;
  }
  EXPECT_EQ(fault_of(interest("/a/b", kNonce + parameters)), PacketFault::malformed) << "no digest";
  const std::string with_digest = parse_name_uri("/a") + tlv(2, digest);
  EXPECT_EQ(fault_of(tlv(5, tlv(7, with_digest) + kNonce + parameters)), PacketFault::malformed) << "another one";
  EXPECT_EQ(fault_of(tlv(5, tlv(7, with_digest) + kNonce)), PacketFault::malformed) << "no parameters";
  const std::string right = full.substr(full.find("\x02\x20"), 34);
  const std::string twice = tlv(5, tlv(7, right + right) + kNonce + parameters + signature + tlv(254, "new"));
  EXPECT_EQ(fault_of(twice), PacketFault::malformed);
  const std::string answered = tlv(6, tlv(7, with_digest) + tlv(0x16, "i") + tlv(0x17, "v"));
  EXPECT_EQ(fault_of(answered), PacketFault::none) << "Data has the name that it was asked for";
}

TEST(NdnPacket, EndsNowhereWithoutAFault) {
  const std::string whole = lp(token("0123456789") + kNackForNoRoute, interest("/a/bc/...", kNonce + hop_limit(3)));
  ASSERT_EQ(fault_of(whole), PacketFault::none);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(fault_of(whole.substr(0, size)), PacketFault::malformed) << size;
    EXPECT_EQ(fault_of(whole.substr(0, size), true), PacketFault::malformed) << size;
  }
}

TEST(NdnPacket, KnowsLocalhost) {
  const auto is_local = [](const std::string& uri) { return is_localhost(as_bytes(parse_name_uri(uri))); };
  EXPECT_TRUE(is_local("/localhost"));
  EXPECT_TRUE(is_local("/localhost/nfd"));
  EXPECT_FALSE(is_local("/localhosts"));
  EXPECT_FALSE(is_local("/a/localhost"));
  EXPECT_FALSE(is_local("/9=localhost"));
  EXPECT_FALSE(is_local("/localhop"));
}

TEST(LpHeader, IsWhatThePacketParserReads) {
  for (const std::size_t inner : {0, 1, 10, 32}) {
    for (const auto& reason :
         {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(0), std::optional<std::uint64_t>(150),
          std::optional<std::uint64_t>(1U << 20U), std::optional<std::uint64_t>(std::uint64_t{1} << 40)}) {
      for (const std::size_t bytes : {1, 200, 240, 260, 1400}) {
        const std::string asks = interest("/a", kNonce + tlv(254, std::string(bytes, 'p')));
        const std::string given(inner, 't');
        const LpHeader header(as_bytes(given), reason, asks.size());
        const Understood read = understood(text_of(header.bytes()) + asks);
        ASSERT_EQ(read.fault, PacketFault::none) << inner << " " << bytes;
        EXPECT_EQ(read.network, asks);
        EXPECT_EQ(read.token, given);
        EXPECT_EQ(read.kind, reason ? PacketKind::nack : PacketKind::interest);
        EXPECT_EQ(read.nack_reason, reason.value_or(0));
      }
    }
  }
  EXPECT_TRUE(LpHeader({}, std::nullopt, 100).bytes().empty());
  EXPECT_EQ(text_of(LpHeader(as_bytes("t"), 150, 2).bytes()) + "ab", lp(token("t") + kNackForNoRoute, "ab"));
}

TEST(PitToken, OpensForTheFaceThatItWasGivenToAlone) {
  constexpr NameKey kKey{1, 2};
  for (std::size_t inner = 0; inner <= PitToken::kMostInnerBytes; ++inner) {
    const std::string theirs(inner, 'x');
    const PitToken made(kKey, {513, 50'000, as_bytes(theirs)}, 7);
    EXPECT_EQ(made.bytes().size(), inner + PitToken::kOwnBytes);
    const auto origin = PitToken::open(kKey, made.bytes(), 7);
    ASSERT_TRUE(origin);
    EXPECT_EQ(origin->face, 513);
    EXPECT_EQ(origin->udp_port, 50'000);
    EXPECT_EQ(text_of(origin->token), theirs);
    EXPECT_FALSE(PitToken::open(kKey, made.bytes(), 8));
    EXPECT_FALSE(PitToken::open({1, 3}, made.bytes(), 7));
    std::string bytes = text_of(made.bytes());
    for (char& byte : bytes) {
      byte = static_cast<char>(byte ^ 1);
      EXPECT_FALSE(PitToken::open(kKey, as_bytes(bytes), 7));
      byte = static_cast<char>(byte ^ 1);
    }
    EXPECT_FALSE(PitToken::open(kKey, as_bytes(bytes + "x"), 7));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(PitToken::open(kKey, as_bytes(bytes.substr(0, size)), 7));
    }
  }
}

}  // namespace
}  // namespace penumbra::ndn
