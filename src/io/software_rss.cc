// SPDX-License-Identifier: Apache-2.0
#include "io/software_rss.h"

#include <fmt/format.h>
#include <rte_mbuf.h>

#include <array>
#include <memory>

#include "io/flow_spread.h"
#include "io/packet_ring.h"
#include "penumbra/chunk.h"

namespace penumbra::io {
class alignas(64) SoftwareRss::Queue final : public RxQueue {
 public:
  Queue(SoftwareRss& all, std::uint16_t index, std::unique_ptr<RxQueue> input, const std::string& name,
        std::uint16_t queues)
      : all_(all), index_(index), input_(std::move(input)), finished_(input_ == nullptr) {
    if (input_ == nullptr) return;
    parcels_.resize(queues);
    for (std::uint16_t target = 0; target < queues; ++target) {
      auto& ring = rings_.emplace_back();
      if (target != index) ring = std::make_unique<PacketRing>(fmt::format("{}_{}_{}", name, index, target));
    }
  }

  /// Starts at the device and at the other workers' rings in rotation, so that none of them starves.
  std::uint16_t receive(rte_mbuf** packets, std::uint16_t capacity) noexcept override {
    const std::uint64_t lost_before = lost();
    std::uint16_t count = 0;
    for (std::size_t i = 0; i < all_.queues_.size(); ++i) {
      const auto room = static_cast<std::uint16_t>(capacity - count - (lost() - lost_before));
      if (room == 0) break;
      Queue& source = *all_.queues_[(first_ + i) % all_.queues_.size()];
      count = static_cast<std::uint16_t>(
          count + (&source == this ? poll(packets + count, room) : take_from(source, packets + count, room)));
    }
    if (++first_ == all_.queues_.size()) first_ = 0;
    return count;
  }

  std::uint64_t lost() const noexcept override { return lost_packets_.load(std::memory_order_relaxed); }

  void drain() noexcept override {
    all_.draining_.store(true, std::memory_order_relaxed);
    finished_.store(true, std::memory_order_release);
  }

  std::vector<int> interrupts() const override { return input_ == nullptr ? std::vector<int>{} : input_->interrupts(); }
  void arm(bool on) noexcept override { input_->arm(on); }

  bool exhausted() const noexcept override {
    for (const auto& feeder : all_.queues_) {
      // The order of both checks matters: packets that the feeder put into the ring before it finished must be visible.
      if (!feeder->finished_.load(std::memory_order_acquire)) return false;
      if (feeder.get() != this && !feeder->rings_.empty() && !feeder->rings_[index_]->empty()) {
        return false;
      }
    }
    return true;
  }

  Loss loss() const noexcept {
    return {lost_packets_.load(std::memory_order_relaxed), lost_bytes_.load(std::memory_order_relaxed)};
  }

  void clear() noexcept {
    for (auto& ring : rings_) {
      if (ring != nullptr) ring->clear();
    }
  }

 private:
  /// Packets to be passed to another queue.
  struct Parcel {
    std::uint16_t size = 0;
    std::array<rte_mbuf*, Chunk::kCapacity> packets;
  };

  /// Takes at most `room` packets that another worker received for this worker.
  std::uint16_t take_from(Queue& feeder, rte_mbuf** packets, std::uint16_t room) const noexcept {
    return feeder.rings_.empty() ? 0 : feeder.rings_[index_]->take(packets, room);
  }

  /// Polls the device, keeps up to `capacity` packets of this worker and passes the others on.
  std::uint16_t poll(rte_mbuf** packets, std::uint16_t capacity) noexcept {
    if (finished_.load(std::memory_order_relaxed)) return 0;
    if (all_.draining_.load(std::memory_order_relaxed)) {
      finished_.store(true, std::memory_order_release);
      return 0;
    }
    const std::uint16_t received = input_->receive(packets, std::min(capacity, Chunk::kCapacity));
    for (std::uint16_t i = 0; i < received; ++i) rte_prefetch0(rte_pktmbuf_mtod(packets[i], const void*));
    std::uint16_t own = 0;
    for (std::uint16_t i = 0; i < received; ++i) {
      rte_mbuf* packet = packets[i];
      const std::uint16_t target = queue_of(*packet, all_.queues());
      if (target == index_) {
        packets[own++] = packet;
      } else {
        parcels_[target].packets[parcels_[target].size++] = packet;
      }
    }
    if (own < received) pass_on();
    if (input_->exhausted()) finished_.store(true, std::memory_order_release);
    return own;
  }

  void pass_on() noexcept {
    for (std::size_t target = 0; target < parcels_.size(); ++target) {
      Parcel& parcel = parcels_[target];
      if (parcel.size == 0) continue;
      const std::uint16_t taken = rings_[target]->put(parcel.packets.data(), parcel.size);
      for (unsigned i = taken; i < parcel.size; ++i) count_lost(*parcel.packets[i]);
      rte_pktmbuf_free_bulk(parcel.packets.data() + taken, parcel.size - taken);
      parcel.size = 0;
    }
  }

  /// One thread writes the counters; any thread reads them.
  void count_lost(const rte_mbuf& packet) noexcept {
    lost_packets_.store(lost_packets_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    lost_bytes_.store(lost_bytes_.load(std::memory_order_relaxed) + packet.data_len, std::memory_order_relaxed);
  }

  SoftwareRss& all_;
  std::uint16_t index_;
  std::unique_ptr<RxQueue> input_;
  std::vector<std::unique_ptr<PacketRing>> rings_;  ///< Rings to the other queues; empty without an input.
  std::vector<Parcel> parcels_;
  std::size_t first_ = 0;       ///< The source that the next receive() polls first.
  std::atomic<bool> finished_;  ///< True if this queue puts no more packets into its rings.
  std::atomic<std::uint64_t> lost_packets_{0};
  std::atomic<std::uint64_t> lost_bytes_{0};
};

SoftwareRss::SoftwareRss(const std::string& name, std::vector<std::unique_ptr<RxQueue>> inputs) {
  const auto queues = static_cast<std::uint16_t>(inputs.size());
  for (std::uint16_t index = 0; index < queues; ++index) {
    queues_.push_back(std::make_unique<Queue>(*this, index, std::move(inputs[index]), name, queues));
  }
}

SoftwareRss::~SoftwareRss() {
  clear();
}

RxQueue& SoftwareRss::queue(std::uint16_t index) {
  return *queues_[index];
}

Loss SoftwareRss::loss() const noexcept {
  Loss sum;
  for (const auto& queue : queues_) {
    const Loss part = queue->loss();
    sum = {sum.packets + part.packets, sum.bytes + part.bytes};
  }
  return sum;
}

void SoftwareRss::clear() noexcept {
  for (const auto& queue : queues_) queue->clear();
}

}  // namespace penumbra::io
