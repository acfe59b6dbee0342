// SPDX-License-Identifier: Apache-2.0
#include "runtime/doorbell.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <system_error>

namespace penumbra::runtime {

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
  // It fails only when the counter is full, which takes longer than machines last.
  if (listening_.exchange(false)) eventfd_write(event_.get(), 1);
}

}  // namespace penumbra::runtime
