// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <functional>
#include <string_view>

#include "base/file_descriptor.h"

namespace penumbra::cli {

/// What a service manager wants to hear of this process, by the protocol of sd_notify(3): that it is ready, that it is
/// alive, that it stops. Without one (NOTIFY_SOCKET is not set) nothing happens.
class Service {
 public:
  Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  /// Says that it stops.
  ~Service();

  /// The router runs: says so the first time, and as often as the watchdog wants afterwards (half of WATCHDOG_USEC),
  /// but for as long as it is not `alive`, which is asked only then.
  void tick(const std::function<bool()>& alive);

 private:
  using Clock = std::chrono::steady_clock;

  void tell(std::string_view state) const;

  FileDescriptor socket_;
  sockaddr_un address_{};
  socklen_t address_bytes_ = 0;
  Clock::duration interval_{0};  ///< 0: no watchdog
  Clock::time_point last_;
  bool ready_ = false;
};

}  // namespace penumbra::cli
