// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <functional>
#include <string_view>

#include "base/file_descriptor.h"

namespace penumbra::cli {

/// Notifies a service manager by the protocol of sd_notify(3): the process is ready, alive, or stopping. Does nothing
/// without a service manager (NOTIFY_SOCKET is not set).
class Service {
 public:
  Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  /// Notifies the manager that the process is stopping.
  ~Service();

  /// Must be called regularly while the router runs. The first call notifies the manager that the process is ready.
  /// Later calls feed the watchdog every half WATCHDOG_USEC if `alive()` is true; `alive` is called only then.
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
