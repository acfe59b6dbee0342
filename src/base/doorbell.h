// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "base/file_descriptor.h"

namespace penumbra {

/// Wakes a thread that sleeps in epoll. The sleeper calls listen(), then checks for work, and only then sleeps. Other
/// threads first add the work and then call ring(). So the sleeper never misses work.
class Doorbell {
 public:
  /// Throws std::system_error.
  Doorbell();

  /// Adds the doorbell to an epoll set, edge-triggered; the sleeper need not read it. Throws std::system_error.
  void join(const FileDescriptor& epoll) const;
  /// Called by the sleeper: listen() before its last check for work, ignore() after its sleep.
  void listen() noexcept {
    listening_.store(true);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  void ignore() noexcept { listening_.store(false); }
  /// Wakes the sleeper. Costs a system call only if the sleeper listens. Any thread.
  void ring() noexcept;

 private:
  FileDescriptor event_;
  std::atomic<bool> listening_{false};
};

}  // namespace penumbra
