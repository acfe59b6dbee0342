// SPDX-License-Identifier: Apache-2.0
//
// Puts a worker without work to sleep. The worker first polls for a short while and then sleeps, longer and longer up
// to a bound. A packet ends the sleep if the driver has an RX interrupt; the doorbell also ends it.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/doorbell.h"
#include "base/file_descriptor.h"
#include "io/port.h"
#include "runtime/counters.h"
#include "runtime/rcu.h"

namespace penumbra::runtime {

/// Determines the length of sleeps. The caller passes the time in ticks of any clock.
class IdlePolicy {
 public:
  /// After the last work the worker only polls for this time, which is longer than an answer over a local link takes.
  static constexpr std::chrono::nanoseconds kSpin = std::chrono::microseconds(50);
  /// The first sleep; each further sleep is twice as long.
  static constexpr std::chrono::nanoseconds kFirst = std::chrono::microseconds(10);

  /// No sleep is longer than `longest`; 0: the worker never sleeps.
  IdlePolicy(std::chrono::nanoseconds longest, double ticks_per_second);

  /// Changes the bound.
  void set_longest(std::chrono::nanoseconds longest) noexcept { longest_ = longest; }

  /// Records that there was work.
  void worked() noexcept { working_ = true; }
  /// Returns the length of a sleep at `now`, when there is no work; 0: poll again at once.
  std::chrono::nanoseconds rest(std::uint64_t now) noexcept;

 private:
  std::chrono::nanoseconds longest_;
  const std::uint64_t spin_ticks_;
  bool working_ = true;
  std::uint64_t since_ = 0;           ///< Time when the work ran out.
  std::chrono::nanoseconds next_{0};  ///< The next sleep.
};

/// Puts a worker to sleep. Any thread may construct it; then only the worker's thread uses it.
class Idle {
 public:
  /// Longest sleep of a worker whose queues all have interrupts, if the worker may sleep at all.
  static constexpr std::chrono::nanoseconds kLongestOnInterrupts = std::chrono::milliseconds(1);

  /// `longest` is the longest sleep of other workers; 0: the worker never sleeps. `queues` are the worker's queues. The
  /// queues and the counters must outlive this object.
  Idle(std::chrono::nanoseconds longest, std::vector<io::RxQueue*> queues, SleepCounters& counters);
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;

  /// Sets exact timers for the thread and calls watch(). Call on the worker's thread before the first rest().
  void set_up_thread() noexcept;
  /// Finds the interrupts of the worker's queues, which may have changed. If the worker cannot wait for all queues, its
  /// sleeps are bounded by `longest`. No thread may change ports meanwhile.
  void watch() noexcept;
  /// Adds a queue. Call before watch() while the worker is stopped.
  void add_queue(io::RxQueue& queue) { all_queues_.push_back(&queue); }
  void worked() noexcept {
    policy_.worked();
    if (armed_) arm(false);
  }
  /// Rests for at most `most` when nothing was received and nothing is in flight. Returns true if the worker slept. The
  /// reader is offline during the sleep, so that owners of tables do not wait.
  bool rest(QsbrGracePeriods::Reader& reader, std::chrono::nanoseconds most) noexcept;
  /// Returns the doorbell, for threads that have work for the worker outside its queues.
  Doorbell& doorbell() { return doorbell_; }

 private:
  void find_interrupts();
  void arm(bool on) noexcept;
  void sleep(std::chrono::nanoseconds duration) const noexcept;

  const std::chrono::nanoseconds longest_;
  IdlePolicy policy_;
  std::vector<io::RxQueue*> all_queues_;
  std::vector<io::RxQueue*> queues_;  ///< The queues with an interrupt.
  SleepCounters& counters_;
  Doorbell doorbell_;
  FileDescriptor epoll_;
  bool armed_ = false;
};

}  // namespace penumbra::runtime
