// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <chrono>

namespace penumbra {

/// Pauses accepting connections after accept() has failed, for example for want of descriptors. The listener stays
/// readable, so a thread that waits for it would otherwise wake again and again.
class AcceptPause {
 public:
  static constexpr std::chrono::seconds kBreather{1};

  /// Notes the errno of a failed accept(). An empty queue, an interruption and an aborted connection do not pause.
  void note(int error) {
    if (error != EAGAIN && error != EINTR && error != ECONNABORTED) until_ = Clock::now() + kBreather;
  }
  bool is_over() const { return Clock::now() >= until_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point until_;
};

}  // namespace penumbra
