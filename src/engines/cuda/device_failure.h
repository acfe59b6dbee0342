// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "cuda/device.h"

namespace penumbra::cuda {

/// Of one GPU: whether it is lost to this process, and why. Who gives it up says so, and all others that use it ask
/// before a call of the driver that may not return; whether their own work has ended they still ask the driver. Any
/// thread.
class DeviceFailure {
 public:
  /// The first reason stays.
  void tell(const std::string& reason) noexcept {
    const std::lock_guard lock(mutex_);
    if (is_told()) return;
    reason_ = reason;
    is_told_.store(true, std::memory_order_release);
  }
  bool is_told() const noexcept { return is_told_.load(std::memory_order_acquire); }
  /// Once it is told.
  const std::string& reason() const noexcept { return reason_; }
  void throw_if_told() const {
    if (is_told()) [[unlikely]]
      throw DeviceError(reason_, true);
  }

 private:
  std::mutex mutex_;  ///< of those who tell
  std::atomic<bool> is_told_{false};
  std::string reason_;
};

}  // namespace penumbra::cuda
