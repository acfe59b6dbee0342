// SPDX-License-Identifier: Apache-2.0
//
// What other threads ask of the one that has the GPU, and wait for.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <mutex>
#include <utility>
#include <vector>

#include "base/doorbell.h"

namespace penumbra::cuda {

class Errands {
 public:
  /// `doorbell` wakes the thread that runs them.
  explicit Errands(Doorbell& doorbell) : doorbell_(doorbell) {}

  /// Has that thread do it, and waits until it has.
  void ask(std::function<void()> errand) {
    std::packaged_task<void()> task(std::move(errand));
    std::future<void> done = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      asked_.push_back(std::move(task));
    }
    are_asked_.store(true, std::memory_order_release);
    doorbell_.ring();
    done.get();
  }
  /// That thread: whether there are any.
  bool are_asked() const noexcept { return are_asked_.load(std::memory_order_acquire); }
  /// That thread: does what was asked. Whether it was anything.
  bool run() {
    if (!are_asked_.exchange(false, std::memory_order_acquire)) return false;
    std::vector<std::packaged_task<void()>> tasks;
    {
      const std::lock_guard lock(mutex_);
      tasks.swap(asked_);
    }
    for (auto& task : tasks) task();
    return true;
  }

 private:
  Doorbell& doorbell_;
  std::atomic<bool> are_asked_{false};
  std::mutex mutex_;
  std::vector<std::packaged_task<void()>> asked_;
};

}  // namespace penumbra::cuda
