// SPDX-License-Identifier: Apache-2.0
//
// Compares rewritten packets with packets that were built with the new fields.
#include "functions/megaflows/rewrite.h"

#include <gtest/gtest.h>

#include <vector>

#include "functions/megaflows/testing.h"
#include "testing/pool_packets.h"

namespace penumbra::megaflows {
namespace {

using packet_fields::Reading;

using testing_support::Bytes;
using testing_support::FrameSpec;

Bytes rewritten(const Bytes& frame, const std::vector<Action>& actions) {
  rte_mbuf* const packet = function_testing::packet_of(frame);
  SparseWords key;
  PacketLayers layers;
  EXPECT_EQ(read_packet(frame.data(), frame.size(), frame.size(), 1, key, layers), Reading::usual);
  EXPECT_TRUE(rewrite(*packet, layers, actions));
  const Bytes after = function_testing::bytes_of(*packet);
  rte_pktmbuf_free(packet);
  return after;
}

TEST(MegaflowRewrite, SetsFieldsAsIfThePacketWereMadeWithThem) {
  Random random(7);
  for (int round = 0; round < 20'000; ++round) {
    FrameSpec spec = testing_support::random_frame(random);
    const Bytes before = spec.bytes();
    std::vector<Action> actions(1 + random.below(5));
    for (Action& action : actions) {
      action = testing_support::random_action(random);
      testing_support::carry_out(spec, action);
    }
    ASSERT_EQ(rewritten(before, actions), spec.bytes()) << actions_text(actions) << testing::PrintToString(before);
  }
}

/// A checksum of 0 is sent as 0xFFFF, because 0 means that there is none (RFC 768).
TEST(MegaflowRewrite, AChecksumOfUdpIsNever0UnlessItWas) {
  int all_ones = 0;
  for (std::uint32_t port = 0; port < 65536; ++port) {
    const Bytes after =
        rewritten(FrameSpec{}.bytes(),
                  {{.kind = Action::Kind::set_field, .field = Field::tp_src, .value = {0, port}, .mask = {0, 0xFFFF}}});
    const unsigned sum = after[40] << 8 | after[41];
    ASSERT_NE(sum, 0U);
    if (sum == 0xFFFF) ++all_ones;
  }
  EXPECT_EQ(all_ones, 1);
}

TEST(MegaflowRewrite, ATagNeedsRoom) {
  const Bytes frame = FrameSpec{}.bytes();
  function_testing::Packet packet(frame);
  SparseWords key;
  PacketLayers layers;
  ASSERT_EQ(read_packet(frame.data(), frame.size(), frame.size(), 1, key, layers), Reading::usual);
  EXPECT_FALSE(
      rewrite(packet.mbuf, layers, std::vector<Action>{{.kind = Action::Kind::push_vlan, .tpid = 0x8100, .tci = 9}}));
  EXPECT_EQ(packet.frame(), frame);
}

}  // namespace
}  // namespace penumbra::megaflows
