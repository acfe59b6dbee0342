// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace penumbra::control::fpm {

/// Decides how long routes stay that may be obsolete. An FPM client reports all its routes when it connects, but does
/// not say when it is done, nor when it leaves. The rules resemble BGP's graceful restart (RFC 4724):
///
/// - After a client has connected, a route that it does not report again is stale. Stale routes are withdrawn once none
///   was reported again for the time `settle`.
/// - Without a client, routes are withdrawn after the time `hold`, which starts with the loss of the last client that
///   had reported everything.
class Resync {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Due : std::uint8_t { nothing, sweep, withdraw };

  Resync(Clock::duration settle, Clock::duration hold) : settle_(settle), hold_(hold) {}

  /// Records that a client has connected, which makes all routes stale. `stale` is their number.
  void connected(Clock::time_point now, std::size_t stale);
  void lost(Clock::time_point now);
  /// Returns the action that is due at `now` with `stale` stale routes left: `sweep` withdraws the stale routes,
  /// `withdraw` all.
  Due due(Clock::time_point now, std::size_t stale);

 private:
  Clock::duration settle_, hold_;
  bool connected_ = false, reported_everything_ = false;
  bool overdue_ = false;  ///< Stale routes have been held long enough.
  std::size_t stale_ = 0;
  Clock::time_point last_reported_again_;
  std::optional<Clock::time_point> hold_until_;
};

}  // namespace penumbra::control::fpm
