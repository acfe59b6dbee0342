// SPDX-License-Identifier: Apache-2.0
#include "runtime/port_slot.h"

#include <gtest/gtest.h>
#include <rte_mempool.h>

#include <array>
#include <mutex>
#include <nlohmann/json.hpp>
#include <shared_mutex>
#include <thread>

#include "io/eal.h"
#include "runtime/quiesce.h"
#include "runtime/scripted_devices.h"

namespace penumbra::runtime {
namespace {

constexpr std::uint16_t kWorkers = 2;

/// Provides a port that workers use and another thread reads while its device leaves and returns.
class PortSlotTest : public testing::Test {
 protected:
  PortSlotTest() {
    test::packet_memory();
    config_.info.name = "a";
    slot_ = std::make_unique<PortSlot>(config_, script_.open(config_, kWorkers), kWorkers);
    for (std::uint16_t worker = 0; worker < kWorkers; ++worker) {
      threads_.emplace_back([this, worker] { work(worker); });
    }
    threads_.emplace_back([this] { look(); });
  }
  ~PortSlotTest() override { end(); }

  void change(const std::function<void()>& change) {
    const std::unique_lock nobody_looks(mutex_);
    quiesce_.change([] {}, change);
  }
  void take_out(const std::function<void()>& further = [] {}) {
    std::unique_ptr<io::Port> port;
    change([&] {
      port = slot_->detach();
      further();
    });
    const std::unique_lock nobody_looks(mutex_);
    slot_->settle(*port);
  }
  void wait_for_packets() {
    const std::uint64_t before = script_.delivered;
    test::wait_until([&] { return script_.delivered > before; }, "packets");
  }
  void end() {
    stop_ = true;
    threads_.clear();
  }
  void check() {
    io::Loss unsent;
    for (std::uint16_t worker = 0; worker < kWorkers; ++worker) {
      unsent.packets += slot_->tx_queue(worker).unsent().packets;
      unsent.bytes += slot_->tx_queue(worker).unsent().bytes;
    }
    EXPECT_EQ(unsent.packets, script_.unsent);
    EXPECT_EQ(unsent.bytes, unsent.packets * sizeof(test::Frame));
    EXPECT_EQ(received_, script_.given);
    EXPECT_EQ(received_, script_.delivered + unsent.packets + refused_);
    slot_.reset();
    EXPECT_EQ(script_.breaches, 0U);
    EXPECT_EQ(script_.alive, 0U);
    EXPECT_EQ(rte_mempool_in_use_count(test::packet_memory()), 0U);
  }

  test::DeviceScript script_;
  control::PortConfig config_;
  std::unique_ptr<PortSlot> slot_;

 private:
  void work(std::uint16_t worker) {
    io::register_thread();
    io::RxQueue& rx = slot_->rx_queue(worker);
    io::TxQueue& tx = slot_->tx_queue(worker);
    std::array<rte_mbuf*, 16> packets{};
    quiesce_.enter();
    while (!stop_) {
      const std::uint16_t count = rx.receive(packets.data(), packets.size());
      received_ += count;
      const std::uint16_t taken = tx.send(packets.data(), count);
      refused_ += static_cast<std::uint64_t>(count - taken);
      rte_pktmbuf_free_bulk(packets.data() + taken, count - taken);
      if (quiesce_.is_requested()) quiesce_.stop();
    }
    rx.drain();
    tx.close();
    quiesce_.leave();
  }

  /// Checks that the losses never decrease, even while a device leaves.
  void look() {
    std::uint64_t before = 0;
    while (!stop_) {
      const std::shared_lock lock(mutex_);
      std::uint64_t unsent = 0;
      for (std::uint16_t worker = 0; worker < kWorkers; ++worker) unsent += slot_->tx_queue(worker).unsent().packets;
      EXPECT_GE(unsent, before);
      before = unsent;
      EXPECT_FALSE(slot_->show().empty());
      EXPECT_EQ(slot_->ring_loss().packets, 0U);
      EXPECT_TRUE(slot_->device_losses().empty());
      EXPECT_EQ(slot_->link_up(), slot_->has_device());
    }
  }

  Quiesce quiesce_;
  std::shared_mutex mutex_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> received_{0}, refused_{0};
  std::vector<std::jthread> threads_;
};

TEST_F(PortSlotTest, KeepsItsCountsWhileTheDeviceGoesAndComes) {
  for (unsigned i = 0; i < 20; ++i) {
    wait_for_packets();
    take_out();
    ASSERT_TRUE(slot_->may_reopen());
    auto port = slot_->open_device();
    change([&] { slot_->attach(std::move(port)); });
  }
  EXPECT_EQ(slot_->reopened(), 20U);
  wait_for_packets();
  end();
  check();
}

TEST_F(PortSlotTest, MayBeRemovedAndComeAgain) {
  for (unsigned i = 0; i < 10; ++i) {
    take_out([this] { slot_->remove(); });
    EXPECT_TRUE(slot_->rx_queue(0).exhausted());
    EXPECT_FALSE(slot_->may_reopen());
    config_.info.mtu = static_cast<std::uint16_t>(1400 + i);
    auto port = script_.open(config_, kWorkers);
    change([&] { slot_->replace(config_, std::move(port)); });
    EXPECT_EQ(slot_->info().mtu, 1400 + i);
    wait_for_packets();
  }
  end();
  check();
}

/// A change may replace a device at once. The old device is settled after that change.
TEST_F(PortSlotTest, SettlesADeviceThatHasASuccessor) {
  // Each of its queues sends a burst of 32 packets and holds four.
  test::DeviceScript successor;
  successor.packets = 36;
  wait_for_packets();
  auto port = successor.open(config_, kWorkers);
  take_out([&] { slot_->replace(config_, std::move(port)); });
  test::wait_until([&] { return successor.given == kWorkers * successor.packets; }, "packets");
  take_out();
  EXPECT_EQ(successor.unsent, kWorkers);
  script_.given += successor.given;
  script_.delivered += successor.delivered;
  script_.unsent += successor.unsent;
  end();
  check();
  EXPECT_EQ(successor.breaches, 0U);
}

/// The next device is drained and closed if the workers drained and closed their queues without a device.
TEST_F(PortSlotTest, ANewDeviceOfEndedWorkersIsDrainedAndClosed) {
  wait_for_packets();
  take_out();
  end();
  EXPECT_TRUE(slot_->rx_queue(0).exhausted());
  auto port = slot_->open_device();
  slot_->attach(std::move(port));
  EXPECT_TRUE(slot_->rx_queue(0).exhausted());
  check();
}

/// The workers close their queues between detach() and settle(), so settle() must close the queues of the device.
TEST_F(PortSlotTest, SettlesADeviceThatWorkersNoLongerReach) {
  wait_for_packets();
  std::unique_ptr<io::Port> port;
  change([&] { port = slot_->detach(); });
  end();
  slot_->settle(*port);
  port.reset();
  check();
}

}  // namespace
}  // namespace penumbra::runtime
