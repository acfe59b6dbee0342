// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace penumbra {

/// A token bucket that any number of threads use without a lock: the generic cell rate algorithm (ITU-T I.371) with
/// time in clock ticks. The bucket holds 64 packets, or the packets of two milliseconds if that is more, because a
/// worker may sleep for one.
class RateLimiter {
 public:
  /// No limit applies if `packets_per_second` is 0.
  RateLimiter(double packets_per_second, double ticks_per_second)
      : cost_(packets_per_second > 0 ? ticks_per_second / packets_per_second : 0),
        burst_(std::max(64 * cost_, ticks_per_second / 500)) {}

  bool limited() const { return cost_ > 0; }
  /// Starts with an empty bucket.
  void start(std::uint64_t now) { paid_until_.store(static_cast<double>(now), std::memory_order_relaxed); }

  /// Returns the number of packets, up to `wanted`, that may pass at time `now`, and takes their tokens.
  std::uint16_t take(std::uint64_t now, std::uint16_t wanted) {
    if (!limited()) return wanted;
    double paid = paid_until_.load(std::memory_order_relaxed);
    while (true) {
      const double from = std::max(paid, static_cast<double>(now) - burst_);
      const double saved = static_cast<double>(now) - from;
      if (saved < cost_) return 0;  // The usual case of an overload avoids the division.
      const auto granted = static_cast<std::uint16_t>(std::clamp<double>(saved / cost_, 1, wanted));
      if (paid_until_.compare_exchange_weak(paid, from + granted * cost_, std::memory_order_relaxed)) return granted;
    }
  }

 private:
  double cost_;   ///< Ticks of one packet.
  double burst_;  ///< Ticks that may be saved up.
  std::atomic<double> paid_until_{0};
};

}  // namespace penumbra
