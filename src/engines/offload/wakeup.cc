// SPDX-License-Identifier: Apache-2.0
#include "offload/wakeup.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <system_error>

namespace penumbra::offload {

Wakeup::Wakeup() : event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!event_) throw std::system_error(errno, std::generic_category(), "cannot make an eventfd");
}

// In both functions, the fence orders the store before the load of the other thread's store. So at least one of the
// two threads sees the other's.
int Wakeup::arm() noexcept {
  eventfd_t count = 0;
  static_cast<void>(eventfd_read(event_.get(), &count));
  is_armed_.store(true, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return event_.get();
}

void Wakeup::signal() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!is_armed_.load(std::memory_order_relaxed) || !is_armed_.exchange(false)) return;
  static_cast<void>(eventfd_write(event_.get(), 1));
}

}  // namespace penumbra::offload
