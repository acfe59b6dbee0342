// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace penumbra::control::fpm {

/// How long routes stay that may be no more. An FPM client tells all its routes when it connects, but not when it has
/// told them all, nor does it say good-bye. So, as BGP's graceful restart (RFC 4724) has it:
///
/// - When a client is there again, a route that it does not tell again (a stale one) is withdrawn as soon as for the
/// time
///   `settle` no stale one has been told again.
/// - Without a client, routes are withdrawn after the time `hold`. It counts from the loss of the last client that had
///   told everything.
class Resync {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Due : std::uint8_t { nothing, sweep, withdraw };

  Resync(Clock::duration settle, Clock::duration hold) : settle_(settle), hold_(hold) {}

  /// A client has come: all routes are stale from now on, `stale` of them.
  void connected(Clock::time_point now, std::size_t stale);
  void lost(Clock::time_point now);
  /// What is to be done now, with so many stale routes left: take out those, or all.
  Due due(Clock::time_point now, std::size_t stale);

 private:
  Clock::duration settle_, hold_;
  bool connected_ = false, told_everything_ = false;
  bool overdue_ = false;  ///< what is stale has been held long enough
  std::size_t stale_ = 0;
  Clock::time_point last_told_again_;
  std::optional<Clock::time_point> hold_until_;
};

}  // namespace penumbra::control::fpm
