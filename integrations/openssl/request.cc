// SPDX-License-Identifier: Apache-2.0
#include "request.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "crypto/secret_memory.h"

namespace penumbra::tls {

std::shared_ptr<Wakeup> Wakeup::make() {
  const int descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (descriptor < 0) return nullptr;
  const int duplicate = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (duplicate < 0) {
    close(descriptor);
    return nullptr;
  }
  return std::shared_ptr<Wakeup>(new Wakeup(descriptor, duplicate));
}

Wakeup::~Wakeup() {
  close_descriptor();
  close(duplicate_);
}

void Wakeup::close_descriptor() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

void Wakeup::signal() const {
  const std::uint64_t one = 1;
  // A counter at its limit is readable, so that a failed write loses nothing.
  [[maybe_unused]] const ssize_t written = write(duplicate_, &one, sizeof one);
}

void Wakeup::clear() const {
  std::uint64_t value = 0;
  [[maybe_unused]] const ssize_t got = read(duplicate_, &value, sizeof value);
}

Request::Request(Key& key_to_use, std::shared_ptr<Wakeup> wakeup_to_signal)
    : key(key_to_use), wakeup(std::move(wakeup_to_signal)) {
  key.refer();
}

bool Request::wait(std::chrono::milliseconds longest) const {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + longest;
  while (!is_done.load(std::memory_order_acquire)) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return false;
    pollfd one{.fd = wakeup->descriptor(), .events = POLLIN, .revents = 0};
    poll(&one, 1, static_cast<int>(left.count()));
    wakeup->clear();
  }
  return true;
}

Request::~Request() {
  erase_bytes(input.data(), input.size());
  erase_bytes(output.data(), output.size());
  key.release();
}

}  // namespace penumbra::tls
