// SPDX-License-Identifier: Apache-2.0
//
// What the control thread and the workers of a run share: its beginning and its end.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>

namespace penumbra::runtime {

/// How many packets may still be received, all workers together; exact. A worker claims before it receives and gives
/// back what did not come.
class PacketQuota {
 public:
  /// None: no limit, and no cost.
  explicit PacketQuota(std::optional<std::uint64_t> limit)
      : limited_(limit.has_value()), unclaimed_(limit.value_or(0)), outstanding_(limit.value_or(0)) {}

  /// At most `wanted`.
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
  /// All that was allowed has been received.
  bool used_up() const noexcept { return limited_ && outstanding_.load(std::memory_order_relaxed) == 0; }

 private:
  const bool limited_;
  alignas(64) std::atomic<std::uint64_t> unclaimed_;
  std::atomic<std::uint64_t> outstanding_;
};

/// Where workers wait for one another before the first packet, and the control thread for them.
class RollCall {
 public:
  using Clock = std::chrono::steady_clock;

  explicit RollCall(unsigned workers) : workers_(workers) {}

  /// A worker is set up, or failed to be (`failure`). Returns once all have said so: whether to go on, which is when
  /// none has failed.
  bool arrive(std::exception_ptr failure) {
    std::unique_lock lock(mutex_);
    if (failure != nullptr && failure_ == nullptr) failure_ = std::move(failure);
    if (++arrived_ == workers_) began_ = Clock::now();
    changed_.notify_all();
    changed_.wait(lock, [this] { return arrived_ == workers_; });
    return failure_ == nullptr;
  }
  /// So many workers will not come.
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
  /// A worker is done.
  void leave() {
    const std::lock_guard lock(mutex_);
    if (++left_ == workers_) ended_ = Clock::now();
    changed_.notify_all();
  }

  /// The control thread waits until every worker has arrived. Returns when that was, which may have been long before
  /// the control thread found a core to run on. Throws the first failure.
  Clock::time_point wait_for_start() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return arrived_ == workers_; });
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    return began_;
  }
  /// Waits until every worker has left, but no longer than `until`. Whether they have.
  bool wait_for_end(Clock::time_point until) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, until, [this] { return left_ == workers_; });
  }
  /// When the last worker left; after wait_for_end() has said so.
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
