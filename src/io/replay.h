// SPDX-License-Identifier: Apache-2.0
//
// Frames in memory given as packets: what captures and synthetic traffic have in common.
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

/// How often frames are given: all of them, in turn.
struct ReplayPlan {
  bool endless = false;
  std::uint64_t packets =
      0;                 ///< unless endless: in all queues together; the frames are begun anew as often as it takes
  control::Rate rate{};  ///< of all queues together
};

/// Frames dealt out to queues by flow, each replayed by its own worker in order. Where frames are repeated without end,
/// the queues repeat the whole together: one that is ahead gives nothing until the others follow. The packets are
/// copies: whoever gets them may rewrite them.
class Replay {
 public:
  /// The EAL must run.
  Replay(Frames frames, std::uint16_t queues, const ReplayPlan& plan);
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  ~Replay();

  std::uint32_t largest_frame() const { return largest_frame_; }
  std::uint16_t queues() const { return static_cast<std::uint16_t>(queues_.size()); }
  RxQueue& queue(std::uint16_t index);

  /// From where packets are taken. Before the first receive().
  void use_pool(const PacketPool& pool);
  /// The rate counts from now on.
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
