// SPDX-License-Identifier: Apache-2.0
#include "base/doorbell.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <system_error>

namespace penumbra {

Doorbell::Doorbell() : event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!event_) throw std::system_error(errno, std::generic_category(), "cannot make an eventfd");
}

void Doorbell::join(const FileDescriptor& epoll) const {
  epoll_event event{.events = EPOLLIN | EPOLLET, .data = {}};
  if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, event_.get(), &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot wait for an eventfd");
  }
}

void Doorbell::ring() noexcept {
  // The caller's work must precede the check of the sleeper, just as the sleeper's flag precedes its check for work.
  // Most calls find the sleeper awake, so threads usually only read.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!listening_.load(std::memory_order_relaxed) || !listening_.exchange(false)) return;
  // The write fails only if the counter is full, which never happens in practice.
  eventfd_write(event_.get(), 1);
}

}  // namespace penumbra
