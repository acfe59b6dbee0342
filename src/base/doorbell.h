// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "base/file_descriptor.h"

namespace penumbra {

/// Wakes a thread that sleeps in epoll. The sleeper says that it listens, then looks whether there is work, and only
/// then sleeps; the others put the work where it looks, and then ring: so nobody sleeps over work.
class Doorbell {
 public:
  /// Throws std::system_error.
  Doorbell();

  /// Adds it to an epoll set, by edges: there is nothing to read. Throws std::system_error.
  void join(const FileDescriptor& epoll) const;
  /// The sleeper, before it looks for the last time, and after its sleep.
  void listen() noexcept {
    listening_.store(true);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  void ignore() noexcept { listening_.store(false); }
  /// Anybody. Costs a system call only if the sleeper listens.
  void ring() noexcept;

 private:
  FileDescriptor event_;
  std::atomic<bool> listening_{false};
};

}  // namespace penumbra
