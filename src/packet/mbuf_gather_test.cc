// SPDX-License-Identifier: Apache-2.0
#include "packet/mbuf_gather.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "packet/fragment_testing.h"

namespace penumbra {
namespace {

using namespace packet_testing;

class GatherTest : public testing::Test {
 protected:
  /// Returns a packet whose segments have these `sizes`.
  rte_mbuf& chain(const Bytes& bytes, std::initializer_list<std::size_t> sizes) {
    rte_mbuf* first = nullptr;
    std::size_t at = 0;
    for (const std::size_t size : sizes) {
      rte_mbuf& segment = pool_.packet(slice(bytes, at, at + size));
      at += size;
      if (first == nullptr) {
        first = &segment;
      } else {
        EXPECT_EQ(rte_pktmbuf_chain(first, &segment), 0);
      }
    }
    EXPECT_EQ(first->pkt_len, bytes.size());
    return *first;
  }
  TestPool pool_;
};

TEST_F(GatherTest, MovesNoByteAndChangesNoOtherByte) {
  const Bytes bytes = pattern(100);
  for (std::uint32_t wanted = 0; wanted <= 110; ++wanted) {
    rte_mbuf& packet = chain(bytes, {10, 1, 0, 20, 69});
    ASSERT_TRUE(gather(packet, wanted));
    EXPECT_GE(packet.data_len, std::min(wanted, 100U));
    EXPECT_LE(packet.data_len, std::max(wanted, 10U));
    EXPECT_EQ(bytes_of(packet), bytes) << wanted;
    if (wanted >= 100) EXPECT_EQ(packet.nb_segs, 1);
    rte_pktmbuf_free(&packet);
    EXPECT_EQ(pool_.in_use(), 0U) << wanted;
  }
}

TEST_F(GatherTest, LeavesSharedMemoryAndFullBuffersAlone) {
  const Bytes bytes = pattern(100);
  for (const int shared : {0, 1}) {
    rte_mbuf& packet = chain(bytes, {10, 90});
    rte_mbuf& segment = shared == 0 ? packet : *packet.next;
    rte_mbuf_refcnt_update(&segment, 1);
    EXPECT_FALSE(gather(packet, 20));
    EXPECT_EQ(packet.data_len, 10);
    EXPECT_TRUE(gather(packet, 10));
    rte_mbuf_refcnt_update(&segment, -1);
    rte_pktmbuf_free(&packet);
  }
  rte_mbuf& full = chain(pattern(3000), {1500, 1500});
  EXPECT_FALSE(gather(full, 3000));
  EXPECT_EQ(full.data_len, 1500);
  rte_pktmbuf_free(&full);
}

}  // namespace
}  // namespace penumbra
