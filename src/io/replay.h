// SPDX-License-Identifier: Apache-2.0
//
// Replays frames in memory as packets, for captures and synthetic traffic.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/rate_limiter.h"
#include "io/frames.h"
#include "io/mbuf_time.h"
#include "io/packet_pool.h"
#include "io/port.h"

namespace penumbra::io {

/// The number of repetitions and the rate of a replay. Frames are given in turn.
struct ReplayPlan {
  bool endless = false;
  std::uint64_t packets = 0;  ///< Total over all queues unless endless. The frames repeat as often as needed.
  control::Rate rate{};       ///< Total rate of all queues.
};

/// Frames distributed over queues by flow. Each queue's worker replays its frames in order. In an endless replay the
/// queues repeat all frames together: a queue that is ahead returns nothing until the others follow. The packets are
/// copies, so the receiver may rewrite them.
class Replay {
 public:
  /// The EAL must be running.
  Replay(Frames frames, std::uint16_t queues, const ReplayPlan& plan);
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  ~Replay();

  std::uint32_t largest_frame() const { return largest_frame_; }
  std::uint16_t queues() const { return static_cast<std::uint16_t>(queues_.size()); }
  RxQueue& queue(std::uint16_t index);

  /// Sets the pool of the packets. Call before the first receive().
  void use_pool(const PacketPool& pool);
  /// Starts the rate limit's clock.
  void start();

 private:
  class Queue;

  void keep_in_step(std::size_t frames);

  std::vector<std::uint8_t> bytes_;
  std::uint32_t largest_frame_;
  RateLimiter limiter_;
  std::vector<std::unique_ptr<Queue>> queues_;
};

}  // namespace penumbra::io
