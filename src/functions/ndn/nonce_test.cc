// SPDX-License-Identifier: Apache-2.0
#include "functions/ndn/nonce.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "functions/ndn/testing.h"

namespace penumbra::ndn {
namespace {

using testing_support::hop_limit;
using testing_support::interest;
using testing_support::text_of;
using testing_support::tlv;

/// Returns the Interest after add_nonce(). `asks` must not have a Nonce.
std::string with_nonce(const std::string& asks) {
  std::vector<std::uint8_t> bytes(kMostNonceGrowth);
  bytes.insert(bytes.end(), asks.begin(), asks.end());
  NdnPacket packet;
  EXPECT_EQ(parse_packet(Bytes(bytes).subspan(kMostNonceGrowth), false, packet), PacketFault::none);
  EXPECT_NE(packet.nonce_place, nullptr);
  const std::string name = text_of(packet.name);
  const std::size_t growth = nonce_growth(packet);
  EXPECT_LE(growth, kMostNonceGrowth);
  add_nonce(packet, 0x64636261);
  EXPECT_EQ(packet.network.size(), asks.size() + growth);
  EXPECT_EQ(text_of(packet.name), name);
  NdnPacket again;
  EXPECT_EQ(parse_packet(packet.network, false, again), PacketFault::none);
  EXPECT_EQ(again.nonce_place, nullptr);
  return text_of(packet.network);
}

TEST(NdnNonce, StandsWhereItBelongs) {
  const std::string nonce = tlv(0x0A, "abcd"), lifetime = tlv(0x0C, "\x0F\xA0");
  const std::string hint = tlv(0x1E, testing_support::name("/hint"));
  EXPECT_EQ(with_nonce(interest("/a", "")), interest("/a", nonce));
  EXPECT_EQ(with_nonce(interest("/a", hop_limit(3))), interest("/a", nonce + hop_limit(3)));
  const std::string before = tlv(0x21, "") + tlv(0x12, "") + hint, behind = lifetime + hop_limit(3);
  EXPECT_EQ(with_nonce(interest("/a", before + behind)), interest("/a", before + nonce + behind));
  EXPECT_EQ(with_nonce(interest("/a", tlv(0x21, "") + lifetime)), interest("/a", tlv(0x21, "") + nonce + lifetime));
  EXPECT_EQ(with_nonce(interest("/a", tlv(254, "new") + lifetime)), interest("/a", nonce + tlv(254, "new") + lifetime));
}

/// Tests all sizes around the one at which the length field grows by two bytes.
TEST(NdnNonce, MayMakeTheLengthLonger) {
  for (std::size_t bytes = 200; bytes < 300; ++bytes) {
    const std::string behind = tlv(254, std::string(bytes, 'x'));
    EXPECT_EQ(with_nonce(interest("/a/bc", behind)), interest("/a/bc", tlv(0x0A, "abcd") + behind)) << bytes;
  }
}

}  // namespace
}  // namespace penumbra::ndn
