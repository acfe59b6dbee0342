// SPDX-License-Identifier: Apache-2.0
#include "cli/interruption.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>

namespace penumbra::cli {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM};
std::atomic<int> noticed{-1};  ///< an eventfd

extern "C" void notice(int /*signal*/) {
  const int error = errno;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(noticed.load(), &one, sizeof one);
  errno = error;
}

}  // namespace

Interruption::Interruption() {
  noticed = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (noticed < 0) throw std::system_error(errno, std::generic_category(), "cannot make an eventfd");
  struct sigaction action{};
  action.sa_handler = notice;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : kSignals) ::sigaction(signal, &action, nullptr);
}

Interruption::~Interruption() {
  for (const int signal : kSignals) std::signal(signal, SIG_DFL);
  ::close(noticed.exchange(-1));
}

int Interruption::descriptor() const noexcept {
  return noticed.load();
}

bool Interruption::wait_for(std::chrono::nanoseconds time) const {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::nanoseconds kStep = std::chrono::hours(1);  // poll() takes milliseconds in an int
  for (const auto until = Clock::now() + time;;) {
    const std::chrono::nanoseconds left = until - Clock::now();
    if (left.count() <= 0) return false;
    pollfd polled{descriptor(), POLLIN, 0};
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::min(left, kStep));
    if (::poll(&polled, 1, static_cast<int>(wait.count())) > 0) return true;
  }
}

}  // namespace penumbra::cli
