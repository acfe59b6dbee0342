// SPDX-License-Identifier: Apache-2.0
//
// Wakes a service that sleeps until a batch of its queue is done (EngineQueue::wake_descriptor()).
#pragma once

#include <atomic>

#include "base/file_descriptor.h"

namespace penumbra::offload {

class Wakeup {
 public:
  /// Throws std::system_error.
  Wakeup();

  /// Makes the descriptor unreadable and arms it for one signal. The service then looks for a finished batch before it
  /// sleeps.
  int arm() noexcept;
  /// Makes the descriptor readable if it is armed. Call after the batch was marked as done. Any thread.
  void signal() noexcept;

 private:
  FileDescriptor event_;
  std::atomic<bool> is_armed_{false};
};

}  // namespace penumbra::offload
