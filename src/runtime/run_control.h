// SPDX-License-Identifier: Apache-2.0
//
// Defines the state that the control thread and the workers of a run share for its start and end.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>

namespace penumbra::runtime {

/// Number of packets that may still be received, all workers together; exact. A worker claims packets before it
/// receives, and returns the part that it did not receive.
class PacketQuota {
 public:
  /// Without a limit the functions cost nothing.
  explicit PacketQuota(std::optional<std::uint64_t> limit)
      : limited_(limit.has_value()), unclaimed_(limit.value_or(0)), outstanding_(limit.value_or(0)) {}

  /// Claims and returns at most `wanted` packets.
  std::uint16_t claim(std::uint16_t wanted) noexcept {
    if (!limited_) return wanted;
    std::uint64_t left = unclaimed_.load(std::memory_order_relaxed);
    std::uint64_t granted = 0;
    do {
      granted = left < wanted ? left : wanted;
    } while (!unclaimed_.compare_exchange_weak(left, left - granted, std::memory_order_relaxed));
    return static_cast<std::uint16_t>(granted);
  }
  void settle(std::uint16_t claimed, std::uint16_t received) noexcept {
    if (!limited_) return;
    if (received < claimed) unclaimed_.fetch_add(std::uint64_t{claimed} - received, std::memory_order_relaxed);
    outstanding_.fetch_sub(received, std::memory_order_relaxed);
  }
  /// Returns true if all permitted packets have been received.
  bool used_up() const noexcept { return limited_ && outstanding_.load(std::memory_order_relaxed) == 0; }

 private:
  const bool limited_;
  alignas(64) std::atomic<std::uint64_t> unclaimed_;
  std::atomic<std::uint64_t> outstanding_;
};

/// Synchronizes the start and end of the workers and the control thread.
class RollCall {
 public:
  using Clock = std::chrono::steady_clock;

  explicit RollCall(unsigned workers) : workers_(workers) {}

  /// Reports that a worker is initialized, or that its initialization failed (`failure`). Waits for all workers.
  /// Returns true if none has failed.
  bool arrive(std::exception_ptr failure) {
    std::unique_lock lock(mutex_);
    if (failure != nullptr && failure_ == nullptr) failure_ = std::move(failure);
    if (++arrived_ == workers_) began_ = Clock::now();
    changed_.notify_all();
    changed_.wait(lock, [this] { return arrived_ == workers_; });
    return failure_ == nullptr;
  }
  /// Reports that `missing` workers could not be created.
  void excuse(unsigned missing, std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (failure_ == nullptr) failure_ = std::move(failure);
    arrived_ += missing;
    changed_.notify_all();
  }
  /// Returns whether the run ends, because at some moment no worker had anything to receive. A worker that gets a queue
  /// after that moment ends with the others. `done`: whether the caller has nothing to receive; `was_done` is what it
  /// said the last time, false at first, which this updates.
  bool all_done(bool done, bool& was_done) {
    if (done != was_done) {
      was_done = done;
      done ? done_.fetch_add(1) : done_.fetch_sub(1);
    }
    if (done && done_.load() == workers_) over_.store(true);
    return over_.load();
  }
  /// Reports that a worker has finished.
  void leave() {
    const std::lock_guard lock(mutex_);
    if (++left_ == workers_) ended_ = Clock::now();
    changed_.notify_all();
  }

  /// Waits until every worker has arrived. Returns the time of the last arrival, which may be long before the control
  /// thread runs. Throws the first failure.
  Clock::time_point wait_for_start() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return arrived_ == workers_; });
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    return began_;
  }
  /// Waits until every worker has left, but no longer than `until`. Returns true if all have left.
  bool wait_for_end(Clock::time_point until) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, until, [this] { return left_ == workers_; });
  }
  /// Returns the time when the last worker left. Valid after wait_for_end() has returned true.
  Clock::time_point ended() const { return ended_; }

 private:
  const unsigned workers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<unsigned> done_{0};
  std::atomic<bool> over_{false};
  unsigned arrived_ = 0;
  unsigned left_ = 0;
  Clock::time_point began_, ended_;
  std::exception_ptr failure_;
};

}  // namespace penumbra::runtime
