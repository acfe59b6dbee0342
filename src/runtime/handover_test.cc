// SPDX-License-Identifier: Apache-2.0
#include "runtime/handover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <thread>

#include "io/flow_spread.h"
#include "packet/mbuf_metadata.h"
#include "packet/testing.h"
#include "testing/pool_packets.h"

namespace penumbra::runtime {
namespace {

using namespace packet_testing;
using function_testing::packet_memory;
using function_testing::packet_of;

rte_mbuf* tcp_packet(std::uint8_t port) {
  Bytes segment = tcp();
  segment[1] = port;
  return packet_of(ethernet(0x0800, ipv4(6, segment)));
}

struct HandoverSetup {
  explicit HandoverSetup(std::uint16_t workers) : handover((packet_memory(), workers)), doorbells(workers) {
    for (std::uint16_t i = 0; i < workers; ++i) handover.set_doorbell(i, doorbells[i]);
  }
  Handover handover;
  std::vector<Doorbell> doorbells;
};

TEST(Handover, ChoosesTheWorkerThatReceivesTheFlow) {
  HandoverSetup setup(3);
  setup.handover.set_port(1, {2, 0});
  setup.handover.set_port(2, {1});
  std::set<std::uint16_t> chosen;
  for (std::uint8_t port = 1; port < 50; ++port) {
    rte_mbuf* const packet = tcp_packet(port);
    packet->port = 1;
    const std::uint16_t worker = setup.handover.worker_of(*packet, 1);
    EXPECT_EQ(worker, io::queue_of(*packet, 2) == 0 ? 2 : 0);
    chosen.insert(worker);
    packet->port = 2;
    EXPECT_EQ(setup.handover.worker_of(*packet, 0), 1);
    packet->port = 0;
    EXPECT_EQ(setup.handover.worker_of(*packet, 2), 2) << "a port whose device chooses";
    packet->port = 7;
    EXPECT_EQ(setup.handover.worker_of(*packet, 2), 2) << "an unknown port";
    rte_pktmbuf_free(packet);
  }
  EXPECT_EQ(chosen, (std::set<std::uint16_t>{0, 2}));
}

TEST(Handover, KeepsTheOrderAndSaysWhenARingIsFull) {
  HandoverSetup setup(2);
  std::vector<rte_mbuf*> given;
  for (;;) {
    rte_mbuf* const packet = tcp_packet(1);
    if (!setup.handover.put(1, 0, packet)) {
      rte_pktmbuf_free(packet);
      break;
    }
    given.push_back(packet);
  }
  EXPECT_EQ(given.size(), io::kRingSlots - 1U);
  EXPECT_FALSE(setup.handover.has_packets(1));
  std::vector<rte_mbuf*> taken;
  while (setup.handover.has_packets(0)) {
    std::array<rte_mbuf*, 10> packets{};
    const std::uint16_t count = setup.handover.take(0, packets.data(), 10);
    taken.insert(taken.end(), packets.begin(), packets.begin() + count);
  }
  EXPECT_EQ(taken, given);
  rte_pktmbuf_free_bulk(taken.data(), static_cast<unsigned>(taken.size()));
}

/// Two workers throw each packet back and forth. Neither may end while a packet is on its way.
TEST(Handover, EndsWhenNoWorkerIsBusyAndNoPacketIsOnItsWay) {
  constexpr int kPackets = 200, kTimes = 50;
  HandoverSetup setup(2);
  std::vector<rte_mbuf*> packets;
  packets.reserve(kPackets);
  for (int i = 0; i < kPackets; ++i) packets.push_back(tcp_packet(1));
  for (rte_mbuf* packet : packets) packet->hash.usr = 0;
  std::array<int, 2> kept{};
  const auto work = [&](std::uint16_t self) {
    const auto other = static_cast<std::uint16_t>(1 - self);
    if (self == 0) {
      for (rte_mbuf* packet : packets) ASSERT_TRUE(setup.handover.put(0, 1, packet));
    }
    bool is_busy = true;
    while (is_busy || !setup.handover.is_over()) {
      if (!is_busy && setup.handover.has_packets(self)) {
        setup.handover.become_busy();
        is_busy = true;
      }
      if (!is_busy) continue;
      std::array<rte_mbuf*, 16> taken{};
      const std::uint16_t count = setup.handover.take(self, taken.data(), 16);
      for (std::uint16_t i = 0; i < count; ++i) {
        if (++taken[i]->hash.usr == kTimes) {
          ++kept[self];
        } else {
          ASSERT_TRUE(setup.handover.put(self, other, taken[i]));
        }
      }
      if (count == 0) {
        setup.handover.become_idle();
        is_busy = false;
      }
    }
  };
  std::thread second([&] { work(1); });
  work(0);
  second.join();
  EXPECT_EQ(kept[0] + kept[1], kPackets);
  rte_pktmbuf_free_bulk(packets.data(), kPackets);
}

}  // namespace
}  // namespace penumbra::runtime
