// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <chrono>

namespace penumbra {

/// When accept() has failed, for want of descriptors, say, nobody is accepted for a while: the listener stays readable,
/// and who waits for that would wake at once, again and again.
class AcceptPause {
 public:
  static constexpr std::chrono::seconds kBreather{1};

  /// `error`: what accept() has left in errno. That nobody waits any more is no failure.
  void note(int error) {
    if (error != EAGAIN && error != EINTR && error != ECONNABORTED) until_ = Clock::now() + kBreather;
  }
  bool is_over() const { return Clock::now() >= until_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point until_;
};

}  // namespace penumbra
