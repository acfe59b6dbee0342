// SPDX-License-Identifier: Apache-2.0
#include "io/shared_tx.h"

#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "base/thread_sanitizer.h"
#include "io/packet_ring.h"

namespace penumbra::io {

SharedTx::SharedTx(const std::string& name, Transmit transmit)
    : transmit_(std::move(transmit)),
      ring_(rte_ring_create(name.c_str(), kRingSlots, static_cast<int>(rte_socket_id()), RING_F_SC_DEQ),
            &rte_ring_free) {
  if (ring_ == nullptr) {
    throw std::runtime_error(fmt::format("no memory for the ring {}: {}", name, rte_strerror(rte_errno)));
  }
}

SharedTx::~SharedTx() {
  rte_pktmbuf_free_bulk(burst_.data() + begin_, end_ - begin_);
  void* packet = nullptr;
  while (rte_ring_sc_dequeue(ring_.get(), &packet) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(packet));
}

std::uint16_t SharedTx::send(rte_mbuf** packets, std::uint16_t count) noexcept {
  // In DPDK's ring a producer waits for an earlier producer by a relaxed read, which is sufficient on x86-64 only.
  tell_handed_over(ring_.get());
  const unsigned taken = rte_ring_mp_enqueue_burst(ring_.get(), reinterpret_cast<void**>(packets), count, nullptr);
  pump();
  return static_cast<std::uint16_t>(taken);
}

void SharedTx::pump() noexcept {
  // A thread that finds the device attended leaves its packets to the attending thread. That thread checks the ring
  // again after it has released the device, so no packet is left. The exchange() of each thread observes the exchange()
  // of the previous thread, and therefore its packets.
  while (!attended_.exchange(true)) {
    const bool all = transmit_all();
    held_back_.store(!all, std::memory_order_relaxed);
    attended_.exchange(false);
    if (!all || rte_ring_empty(ring_.get()) != 0) return;
  }
}

/// Returns false if the device did not accept everything.
bool SharedTx::transmit_all() noexcept {
  while (true) {
    if (begin_ == end_) {
      begin_ = 0;
      end_ = static_cast<std::uint16_t>(
          rte_ring_sc_dequeue_burst(ring_.get(), reinterpret_cast<void**>(burst_.data()), kBurst, nullptr));
      tell_taken_over(ring_.get());
      if (end_ == 0) return true;
    }
    begin_ += transmit_(burst_.data() + begin_, static_cast<std::uint16_t>(end_ - begin_));
    if (begin_ < end_) return false;
  }
}

void SharedTx::close() noexcept {
  if (users_.fetch_sub(1) > 1) return pump();
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    pump();
    if (!waiting() && rte_ring_empty(ring_.get()) != 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  while (attended_.exchange(true)) std::this_thread::yield();  // A thread that closed earlier may still be sending.
  do {
    for (std::uint16_t i = begin_; i < end_; ++i) {
      dropped_packets_.fetch_add(1, std::memory_order_relaxed);
      dropped_bytes_.fetch_add(burst_[i]->data_len, std::memory_order_relaxed);
    }
    rte_pktmbuf_free_bulk(burst_.data() + begin_, end_ - begin_);
    begin_ = 0;
    end_ = static_cast<std::uint16_t>(
        rte_ring_sc_dequeue_burst(ring_.get(), reinterpret_cast<void**>(burst_.data()), kBurst, nullptr));
  } while (end_ > 0);
  held_back_.store(false, std::memory_order_relaxed);
  attended_.store(false);
}

Loss SharedTx::dropped() const noexcept {
  return {dropped_packets_.load(std::memory_order_relaxed), dropped_bytes_.load(std::memory_order_relaxed)};
}

}  // namespace penumbra::io
