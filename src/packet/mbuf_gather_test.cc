// SPDX-License-Identifier: Apache-2.0
#include "packet/mbuf_gather.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "packet/fragment_testing.h"
#include "packet/mbuf_metadata.h"

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

TEST(CopyPacket, HasTheBytesAndNoMetadata) {
  const TestPool pool;
  const Bytes bytes = pattern(100);
  rte_mbuf& packet = pool.packet(bytes);
  headers_of(packet);
  journey_of(packet, 5).visits = 3;
  for (const std::uint32_t begin : {0U, 30U}) {
    rte_mbuf* const copy = copy_packet(packet, *pool, begin, 60);
    ASSERT_NE(copy, nullptr);
    const Bytes copied = bytes_of(*copy);
    EXPECT_EQ(copied, slice(bytes, begin, begin + 60));
    EXPECT_EQ(received_at(*copy, 7), 7U);
    EXPECT_EQ(journey_of(*copy, 7).visits, 0);
    EXPECT_EQ(headers_of(*copy), parse_headers(std::as_bytes(std::span(copied))));
    rte_pktmbuf_free(copy);
  }
  EXPECT_EQ(journey_of(packet, 7).visits, 3);
  rte_pktmbuf_free(&packet);
}

}  // namespace
}  // namespace penumbra
