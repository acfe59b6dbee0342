// SPDX-License-Identifier: Apache-2.0
#include "io/packet_pool.h"

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "io/eal.h"

namespace penumbra::io {
namespace {

bool is_known(const rte_mbuf& packet) {
  const auto* const begin = static_cast<const std::byte*>(packet.buf_addr);
  return std::ranges::any_of(memory_of_pools(), [&](const PoolMemory& of_pool) {
    return std::ranges::any_of(of_pool.ranges, [&](const auto& memory) {
      return begin >= memory->data() && begin + packet.buf_len <= memory->data() + memory->bytes();
    });
  });
}

TEST(MemoryOfPools, HasEveryPacketOfEveryPoolThatThereIs) {
  start_eal({}, 1);
  PacketPool first = create_pool({.packets = 8191, .data_room = RTE_MBUF_DEFAULT_BUF_SIZE});
  const PacketPool second = create_small_pool({.packets = 63, .data_room = 9216});
  std::vector<rte_mbuf*> packets(4000);
  ASSERT_EQ(rte_pktmbuf_alloc_bulk(first.get(), packets.data(), static_cast<unsigned>(packets.size())), 0);
  packets.push_back(rte_pktmbuf_alloc(second.get()));
  for (const rte_mbuf* packet : packets) ASSERT_TRUE(is_known(*packet));
  const auto held = memory_of_pools();
  for (rte_mbuf* packet : packets) rte_pktmbuf_free(packet);
  const std::size_t before = held.size();
  first.reset();
  EXPECT_EQ(memory_of_pools().size(), before) << "what refers to the memory of a pool keeps it";
}

TEST(MemoryOfPools, HasNoPoolThatIsGone) {
  start_eal({}, 1);
  const std::size_t before = memory_of_pools().size();
  create_small_pool({.packets = 63, .data_room = 2048});
  EXPECT_EQ(memory_of_pools().size(), before);
}

}  // namespace
}  // namespace penumbra::io
