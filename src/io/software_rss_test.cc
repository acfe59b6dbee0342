// SPDX-License-Identifier: Apache-2.0
#include "io/software_rss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "io/ethdev_queues.h"
#include "io/flow_spread.h"
#include "io/packet_ring.h"
#include "io/replay.h"
#include "io/shared_tx.h"
#include "io/test_support.h"
#include "io/traffic_testing.h"

namespace penumbra::io::test {
namespace {

constexpr std::uint64_t kPackets = 20000;

Frames stream() {
  return zipf_frames(200, kPackets);
}

/// Refers to a queue that another object owns.
class Borrowed final : public RxQueue {
 public:
  explicit Borrowed(RxQueue& queue) : queue_(queue) {}
  std::uint16_t receive(rte_mbuf** packets, std::uint16_t capacity) noexcept override {
    return queue_.receive(packets, capacity);
  }
  void drain() noexcept override { queue_.drain(); }
  bool exhausted() const noexcept override { return queue_.exhausted(); }

 private:
  RxQueue& queue_;
};

class SoftwareRssTest : public ::testing::Test {
 protected:
  void SetUp() override {
    need_eal();
    pool_ = create_pool(pool_size({}, 8, 0));
  }
  void TearDown() override { EXPECT_EQ(rte_mempool_in_use_count(pool_.get()), 0U); }

  /// Creates queues for `queues` workers from the queues of `device`.
  std::unique_ptr<SoftwareRss> make_rss(Replay& device, std::uint16_t queues) {
    device.use_pool(pool_);
    device.start();
    std::vector<std::unique_ptr<RxQueue>> inputs(queues);
    for (std::uint16_t i = 0; i < device.queues(); ++i) inputs[i] = std::make_unique<Borrowed>(device.queue(i));
    return std::make_unique<SoftwareRss>("test_rss", std::move(inputs));
  }

  PacketPool pool_;
};

std::string flow_of(const rte_mbuf& packet) {
  const auto* frame = rte_pktmbuf_mtod(&packet, const char*);
  return std::string(frame + 26, 12) + frame[23];
}

/// The packets that one worker received, by flow, in the order of arrival.
using Seen = std::map<std::string, std::vector<std::uint64_t>>;

Seen run_worker(RxQueue& queue) {
  register_thread();
  const MbufTime time;
  Seen seen;
  std::array<rte_mbuf*, 64> packets{};
  while (!queue.exhausted()) {
    const std::uint16_t count = queue.receive(packets.data(), packets.size());
    for (std::uint16_t i = 0; i < count; ++i) seen[flow_of(*packets[i])].push_back(time.get(*packets[i]));
    rte_pktmbuf_free_bulk(packets.data(), count);
    if (count == 0) std::this_thread::yield();
  }
  return seen;
}

TEST_F(SoftwareRssTest, KeepsFlowsTogetherInOrderAndCounted) {
  using Shape = std::pair<std::uint16_t, std::uint16_t>;
  for (const auto& [devices, queues] : {Shape{1, 2}, Shape{1, 4}, Shape{2, 3}, Shape{3, 3}}) {
    Replay device(stream(), devices, {.packets = kPackets});
    const auto rss = make_rss(device, queues);
    std::vector<Seen> seen(queues);
    std::vector<std::thread> threads;
    threads.reserve(seen.size());
    for (std::uint16_t queue = 0; queue < queues; ++queue) {
      threads.emplace_back([&, queue] { seen[queue] = run_worker(rss->queue(queue)); });
    }
    for (std::thread& thread : threads) thread.join();
    std::uint64_t received = 0;
    std::map<std::string, std::size_t> queue_of_flow;
    for (std::size_t queue = 0; queue < seen.size(); ++queue) {
      EXPECT_FALSE(seen[queue].empty());
      for (const auto& [flow, times] : seen[queue]) {
        EXPECT_TRUE(queue_of_flow.emplace(flow, queue).second) << "a flow on two queues";
        EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
        received += times.size();
      }
    }
    EXPECT_EQ(received + rss->loss().packets, kPackets);
    EXPECT_EQ(rss->loss().bytes, rss->loss().packets * 60);
  }
}

TEST_F(SoftwareRssTest, CountsWhatFullRingsRefuse) {
  Replay device(stream(), 1, {.packets = kPackets});
  const auto rss = make_rss(device, 2);
  std::uint64_t own = 0, others = 0;
  std::array<rte_mbuf*, 64> packets{};
  const auto take_all = [&](std::uint16_t queue, std::uint64_t& sum) {
    // The other queue's ring is not emptied meanwhile.
    while (const std::uint16_t count = rss->queue(queue).receive(packets.data(), packets.size())) {
      sum += count;
      rte_pktmbuf_free_bulk(packets.data(), count);
    }
  };
  while (!device.queue(0).exhausted()) take_all(0, own);
  EXPECT_FALSE(rss->queue(0).exhausted() && rss->queue(1).exhausted());
  take_all(1, others);
  EXPECT_TRUE(rss->queue(1).exhausted());
  EXPECT_EQ(others, kRingSlots - 1U);
  EXPECT_GT(rss->loss().packets, 0U);
  EXPECT_EQ(own + others + rss->loss().packets, kPackets);
}

/// Received and lost packets together stay within the capacity, so that a packet limit can be kept.
TEST_F(SoftwareRssTest, TakesNoMoreThanIsAskedForEvenIfSomeIsLost) {
  Replay device(stream(), 2, {.packets = kPackets});
  const auto rss = make_rss(device, 3);
  std::array<rte_mbuf*, 64> packets{};
  constexpr std::uint16_t kTaking = 2;
  std::array<std::uint64_t, kTaking> lost{};
  // Queue 1 receives from its own device queue and from queue 0. Queue 2 never takes packets.
  std::uint16_t capacity = 1;
  while (!device.queue(0).exhausted() || !device.queue(1).exhausted()) {
    capacity = static_cast<std::uint16_t>(capacity % packets.size() + 1);
    for (std::uint16_t queue = 0; queue < kTaking; ++queue) {
      const std::uint16_t count = rss->queue(queue).receive(packets.data(), capacity);
      rte_pktmbuf_free_bulk(packets.data(), count);
      ASSERT_LE(count + (rss->queue(queue).lost() - lost[queue]), capacity);
      lost[queue] = rss->queue(queue).lost();
    }
  }
  EXPECT_GT(lost[1], 0U);
  EXPECT_EQ(rss->loss().packets, lost[0] + lost[1]);
  rss->clear();
}

/// Each of two device queues gives more packets than a worker takes in one call, all for the same worker.
TEST_F(SoftwareRssTest, NeitherTheDeviceNorARingStarves) {
  Frames all = stream(), one;
  const FrameEntry entry = all.entries.front();
  const std::uint8_t* frame = all.bytes.data() + entry.offset;
  for (std::uint64_t i = 0; i < 100; ++i) one.add(i, {frame, entry.size});
  const std::uint16_t owner = queue_of(frame, entry.size, 2);
  const std::uint16_t other = 1 - owner;
  Frames others = one;
  for (FrameEntry& each : others.entries) each.nanoseconds += 1000;
  Replay first(std::move(one), 1, {.endless = true}), second(std::move(others), 1, {.endless = true});
  std::vector<std::unique_ptr<RxQueue>> inputs(2);
  for (Replay* device : {&first, &second}) {
    device->use_pool(pool_);
    device->start();
    inputs[device == &first ? owner : other] = std::make_unique<Borrowed>(device->queue(0));
  }
  SoftwareRss rss("test_fair", std::move(inputs));
  std::array<rte_mbuf*, 64> packets{};
  std::array<std::uint64_t, 2> from{};
  const MbufTime time;
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(rss.queue(other).receive(packets.data(), packets.size()), 0);
    const std::uint16_t count = rss.queue(owner).receive(packets.data(), packets.size());
    for (std::uint16_t i = 0; i < count; ++i) ++from[time.get(*packets[i]) / 1000];
    rte_pktmbuf_free_bulk(packets.data(), count);
  }
  EXPECT_GT(from[0], 0U);
  EXPECT_GT(from[1], 0U);
  rss.clear();
}

TEST_F(SoftwareRssTest, DrainsWhatItHolds) {
  Replay device(stream(), 1, {.endless = true});
  const auto rss = make_rss(device, 2);
  std::array<rte_mbuf*, 64> packets{};
  const std::uint16_t own = rss->queue(0).receive(packets.data(), packets.size());
  rte_pktmbuf_free_bulk(packets.data(), own);
  ASSERT_LT(own, 64);
  // The worker that polls the device has not noticed the drain, so it may still pass packets on.
  rss->queue(1).drain();
  EXPECT_FALSE(rss->queue(1).exhausted());
  EXPECT_EQ(rss->queue(0).receive(packets.data(), packets.size()), 0);
  EXPECT_FALSE(rss->queue(1).exhausted());
  EXPECT_TRUE(rss->queue(0).exhausted());
  ASSERT_EQ(rss->queue(1).receive(packets.data(), packets.size()), 64 - own);
  rte_pktmbuf_free_bulk(packets.data(), 64U - own);
  EXPECT_TRUE(rss->queue(1).exhausted());
}

TEST_F(SoftwareRssTest, FreesWhatNobodyTook) {
  Replay device(stream(), 1, {.endless = true});
  const auto rss = make_rss(device, 2);
  std::array<rte_mbuf*, 64> packets{};
  const std::uint16_t own = rss->queue(0).receive(packets.data(), packets.size());
  rte_pktmbuf_free_bulk(packets.data(), own);
  EXPECT_GT(rte_mempool_in_use_count(pool_.get()), 0U);
  rss->clear();
  EXPECT_EQ(rte_mempool_in_use_count(pool_.get()), 0U);
}

/// A device's transmit queue that accepts few packets at a time, and sometimes none. transmit() checks that no two
/// threads call it concurrently.
class SlowDevice {
 public:
  std::uint16_t transmit(rte_mbuf** packets, std::uint16_t count) {
    EXPECT_FALSE(busy_.exchange(true)) << "two threads at once";
    const auto taken = static_cast<std::uint16_t>(std::min<unsigned>(count, turn_++ % 5 * 7));
    const MbufTime time;
    for (std::uint16_t i = 0; i < taken; ++i) sent.push_back(time.get(*packets[i]));
    rte_pktmbuf_free_bulk(packets, taken);
    busy_.store(false);
    return taken;
  }
  std::vector<std::uint64_t> sent;

 private:
  std::atomic<bool> busy_{false};
  unsigned turn_ = 0;
};

TEST_F(SoftwareRssTest, SharedTransmitQueueLosesNothingAndKeepsEachWorkersOrder) {
  constexpr std::uint16_t kWorkers = 3;
  SlowDevice device;
  SharedTx shared("test_tx", [&](rte_mbuf** packets, std::uint16_t count) { return device.transmit(packets, count); });
  for (std::uint16_t worker = 0; worker < kWorkers; ++worker) shared.add_user();
  std::atomic<std::uint64_t> taken{0};
  std::vector<std::thread> threads;
  threads.reserve(kWorkers);
  for (std::uint16_t worker = 0; worker < kWorkers; ++worker) {
    threads.emplace_back([&, worker] {
      register_thread();
      const MbufTime time;
      std::array<rte_mbuf*, 32> packets{};
      for (std::uint64_t i = 0; i < 5000; i += packets.size()) {
        if (rte_pktmbuf_alloc_bulk(pool_.get(), packets.data(), packets.size()) != 0) continue;
        for (std::size_t k = 0; k < packets.size(); ++k)
          time.set(*packets[k], worker * std::uint64_t{1'000'000} + i + k);
        const std::uint16_t sent = shared.send(packets.data(), packets.size());
        taken += sent;
        rte_pktmbuf_free_bulk(packets.data() + sent, packets.size() - sent);
      }
      shared.close();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(taken, 0U);
  EXPECT_EQ(device.sent.size() + shared.dropped().packets, taken);
  EXPECT_FALSE(shared.waiting());
  std::map<std::uint64_t, std::uint64_t> last;
  for (const std::uint64_t packet : device.sent) {
    const auto [before, first] = last.try_emplace(packet / 1'000'000, packet);
    EXPECT_TRUE(first || before->second < packet);
    before->second = packet;
  }
}

TEST_F(SoftwareRssTest, SharedTransmitQueueOwnsUpToWhatTheDeviceNeverTook) {
  SharedTx shared("test_tx_dead", [](rte_mbuf**, std::uint16_t) { return std::uint16_t{0}; });
  shared.add_user();
  std::vector<rte_mbuf*> packets(std::size_t{2} * kRingSlots);
  ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool_.get(), packets.data(), 2 * kRingSlots), 0);
  for (rte_mbuf* packet : packets) rte_pktmbuf_append(packet, 60);
  const std::uint16_t taken = shared.send(packets.data(), 2 * kRingSlots);
  EXPECT_LT(taken, 2 * kRingSlots);
  EXPECT_TRUE(shared.waiting());
  rte_pktmbuf_free_bulk(packets.data() + taken, 2U * kRingSlots - taken);
  shared.close();
  EXPECT_FALSE(shared.waiting());
  EXPECT_EQ(shared.dropped().packets, taken);
  EXPECT_EQ(shared.dropped().bytes, taken * 60U);
}

TEST_F(SoftwareRssTest, SharedTransmitQueueDropsNothingBeforeItsLastUserIsDone) {
  bool takes = false;
  SharedTx shared("test_tx_two", [&](rte_mbuf** packets, std::uint16_t count) -> std::uint16_t {
    if (!takes) return 0;
    rte_pktmbuf_free_bulk(packets, count);
    return count;
  });
  SharedTxQueue early(shared, true), late(shared, false);
  std::array<rte_mbuf*, 100> packets{};
  ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool_.get(), packets.data(), packets.size()), 0);
  ASSERT_EQ(late.send(packets.data(), packets.size()), packets.size());
  early.close();
  EXPECT_EQ(early.unsent().packets, 0U);
  takes = true;
  late.close();
  EXPECT_EQ(early.unsent().packets, 0U);
  EXPECT_EQ(rte_mempool_in_use_count(pool_.get()), 0U);
}

}  // namespace
}  // namespace penumbra::io::test
