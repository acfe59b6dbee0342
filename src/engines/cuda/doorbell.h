// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <semaphore>

namespace penumbra::cuda {

/// Wakes the one thread that sleeps here. Who rings makes a system call only if it does sleep.
class Doorbell {
 public:
  /// Any thread, when what the sleeper waits for is there.
  void ring() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (asleep_.load(std::memory_order_relaxed) && asleep_.exchange(false, std::memory_order_relaxed)) bell_.release();
  }
  /// Sleeps until it rings, or so long, unless `has_work` says that there is no need to.
  template <class HasWork>
  void sleep(std::chrono::milliseconds at_most, HasWork has_work) {
    asleep_.store(true, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const bool rung = !has_work() && bell_.try_acquire_for(at_most);
    // Who has taken the flag rings, if not already; the ring is for this sleep and no later one.
    if (!rung && !asleep_.exchange(false, std::memory_order_relaxed)) bell_.acquire();
  }

 private:
  std::atomic<bool> asleep_{false};
  std::counting_semaphore<> bell_{0};
};

}  // namespace penumbra::cuda
