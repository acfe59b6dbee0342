// SPDX-License-Identifier: Apache-2.0
//
// Pauses all workers at points where no worker holds a packet, a port's queue or a function's data. The control plane
// can then change data that workers read without a lock.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace penumbra::runtime {

/// Stops workers between two rounds of their loops for the duration of a change, while packets wait in the devices'
/// rings. Callers should prepare long work in advance.
class Quiesce {
 public:
  Quiesce() = default;
  Quiesce(const Quiesce&) = delete;
  Quiesce& operator=(const Quiesce&) = delete;

  // The following functions are for workers.
  /// Begins to work. Waits while a change is in progress.
  void enter() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !requested_.load(std::memory_order_relaxed); });
    ++working_;
  }
  /// Ends the worker's work.
  void leave() {
    const std::lock_guard lock(mutex_);
    --working_;
    changed_.notify_all();
  }
  /// Returns true if the worker must stop receiving, and must call stop() once it has nothing in flight.
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

  // The following functions are for the control plane.
  /// Stops all workers, makes the change and resumes the workers, even if the change throws. Calls `wake` after the
  /// request, to wake sleeping workers. Changes are serialized. Any thread except a worker's may call it.
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
  unsigned working_ = 0;      ///< Workers between enter() and leave().
  unsigned stopped_ = 0;      ///< Workers in stop().
  std::uint64_t change_ = 0;  ///< Number of changes made.
};

}  // namespace penumbra::runtime
