// SPDX-License-Identifier: Apache-2.0
#include "cli/service.h"

#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace penumbra::cli {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Returns 0 for text that is not a number.
template <class Number>
Number number_of(std::string_view text) {
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc{} && end == text.data() + text.size() ? number : Number{};
}

}  // namespace

Service::Service() {
  const std::string_view path = variable("NOTIFY_SOCKET");
  // A path, or a name in the abstract namespace after an '@'.
  if (path.size() < 2 || path.size() >= sizeof address_.sun_path || (path[0] != '/' && path[0] != '@')) return;
  address_.sun_family = AF_UNIX;
  path.copy(address_.sun_path, path.size());
  if (path[0] == '@') address_.sun_path[0] = '\0';
  address_bytes_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  socket_ = FileDescriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const std::string_view process = variable("WATCHDOG_PID");
  if (!process.empty() && number_of<pid_t>(process) != getpid()) return;
  interval_ = std::chrono::microseconds(number_of<std::int64_t>(variable("WATCHDOG_USEC")) / 2);
}

Service::~Service() {
  tell("STOPPING=1");
}

void Service::tick(const std::function<bool()>& alive) {
  const auto now = Clock::now();
  if (!ready_) {
    ready_ = true;
    last_ = now;
    tell("READY=1");
  } else if (interval_.count() > 0 && now - last_ >= interval_ && alive()) {
    last_ = now;
    tell("WATCHDOG=1");
  }
}

void Service::tell(std::string_view state) const {
  if (!socket_) return;
  // An absent manager is no reason to stop forwarding.
  [[maybe_unused]] const ssize_t sent = sendto(socket_.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                                               reinterpret_cast<const sockaddr*>(&address_), address_bytes_);
}

}  // namespace penumbra::cli
