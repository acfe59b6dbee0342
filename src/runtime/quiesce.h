// SPDX-License-Identifier: Apache-2.0
//
// Moments at which no worker holds a packet, a port's queue or anything of a function: the control plane then changes
// what workers otherwise read without a lock.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace penumbra::runtime {

/// Workers stop between two rounds of their loops for as long as a change takes, while packets wait in the devices'
/// rings. Everything that takes long is prepared before.
class Quiesce {
 public:
  Quiesce() = default;
  Quiesce(const Quiesce&) = delete;
  Quiesce& operator=(const Quiesce&) = delete;

  // For workers:
  /// Begins to work. Waits for a change that is being made.
  void enter() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !requested_.load(std::memory_order_relaxed); });
    ++working_;
  }
  /// Ends its work.
  void leave() {
    const std::lock_guard lock(mutex_);
    --working_;
    changed_.notify_all();
  }
  /// Whether it shall receive no more and call stop() as soon as nothing of its own is in flight.
  bool is_requested() const noexcept { return requested_.load(std::memory_order_relaxed); }
  /// Waits until the change is made.
  void stop() {
    std::unique_lock lock(mutex_);
    if (!requested_.load(std::memory_order_relaxed)) return;
    const std::uint64_t change = change_;
    ++stopped_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return change_ != change; });
  }

  // For the control plane:
  /// Stops all workers that work, makes the change and lets them go on, also if it throws. `wake` is called once they
  /// are asked to stop, for those that sleep. One change is made at a time; any thread but a worker's.
  template <class Wake, class Change>
  void change(const Wake& wake, const Change& change) {
    const std::lock_guard one(one_);
    const Resume resume{*this};
    {
      const std::lock_guard lock(mutex_);
      requested_.store(true, std::memory_order_seq_cst);
    }
    wake();
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopped_ == working_; });
    }
    change();
  }

 private:
  struct Resume {
    Quiesce& quiesce;
    ~Resume() {
      const std::lock_guard lock(quiesce.mutex_);
      quiesce.requested_.store(false, std::memory_order_relaxed);
      quiesce.stopped_ = 0;
      ++quiesce.change_;
      quiesce.changed_.notify_all();
    }
  };

  std::mutex one_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> requested_{false};
  unsigned working_ = 0;      ///< workers between enter() and leave()
  unsigned stopped_ = 0;      ///< in stop()
  std::uint64_t change_ = 0;  ///< how many changes were made
};

}  // namespace penumbra::runtime
