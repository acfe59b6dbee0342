// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "cuda/device.h"

namespace penumbra::cuda {

/// Records that one GPU has failed for this process, and the reason. The user that gives up the GPU records the
/// failure. All other users check the record before a driver call that may not return, but still ask the driver if
/// their own work has ended. May be used on any thread.
class DeviceFailure {
 public:
  /// Records the failure; the first reason is kept.
  void tell(const std::string& reason) noexcept {
    const std::lock_guard lock(mutex_);
    if (is_told()) return;
    reason_ = reason;
    is_told_.store(true, std::memory_order_release);
  }
  bool is_told() const noexcept { return is_told_.load(std::memory_order_acquire); }
  /// Returns the reason. Call only after is_told() returned true.
  const std::string& reason() const noexcept { return reason_; }
  void throw_if_told() const {
    if (is_told()) [[unlikely]]
      throw DeviceError(reason_, true);
  }

 private:
  std::mutex mutex_;  ///< Serializes writers.
  std::atomic<bool> is_told_{false};
  std::string reason_;
};

}  // namespace penumbra::cuda
