// SPDX-License-Identifier: Apache-2.0
//
// What a worker does when it has nothing to do: it looks again for a short while, and then sleeps, longer and longer up
// to a bound. A packet ends the sleep where the driver has an RX interrupt, and so does the doorbell.
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

/// How long to sleep. It is told the time, in ticks of any clock.
class IdlePolicy {
 public:
  /// For so long after the last work the worker only looks again: longer than an answer over a local link takes.
  static constexpr std::chrono::nanoseconds kSpin = std::chrono::microseconds(50);
  /// The first sleep; each further one is twice as long.
  static constexpr std::chrono::nanoseconds kFirst = std::chrono::microseconds(10);

  /// No sleep is longer than `longest`; 0: there is none at all.
  IdlePolicy(std::chrono::nanoseconds longest, double ticks_per_second);

  /// From now on another bound holds.
  void set_longest(std::chrono::nanoseconds longest) noexcept { longest_ = longest; }

  /// There was something to do.
  void worked() noexcept { working_ = true; }
  /// There is nothing to do at `now`: how long to sleep; 0: look again at once.
  std::chrono::nanoseconds rest(std::uint64_t now) noexcept;

 private:
  std::chrono::nanoseconds longest_;
  const std::uint64_t spin_ticks_;
  bool working_ = true;
  std::uint64_t since_ = 0;           ///< when there was nothing to do for the first time
  std::chrono::nanoseconds next_{0};  ///< the next sleep
};

/// A worker's rests. Made anywhere, then used by the worker's thread alone.
class Idle {
 public:
  /// The bound for a worker whose queues all have interrupts, if it may sleep at all.
  static constexpr std::chrono::nanoseconds kLongestOnInterrupts = std::chrono::milliseconds(1);

  /// `longest` is the bound otherwise; 0: it never sleeps. `queues` are the worker's; they and the counters outlive it.
  Idle(std::chrono::nanoseconds longest, std::vector<io::RxQueue*> queues, SleepCounters& counters);
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;

  /// In the worker's thread before its first rest: exact timers, and watch().
  void set_up_thread() noexcept;
  /// Its queues may have other interrupts from now on. Where they cannot be waited for, the worker looks in between.
  /// No thread may change ports meanwhile.
  void watch() noexcept;
  /// There is one more queue. Before watch(), while the worker stands still.
  void add_queue(io::RxQueue& queue) { all_queues_.push_back(&queue); }
  void worked() noexcept {
    policy_.worked();
    if (armed_) arm(false);
  }
  /// Nothing came, and nothing is in flight. Returns whether it slept. The reader is offline while it does: owners of
  /// tables do not wait.
  bool rest(QsbrGracePeriods::Reader& reader) noexcept;
  /// For those who have work for the worker that comes by no queue.
  Doorbell& doorbell() { return doorbell_; }

 private:
  void find_interrupts();
  void arm(bool on) noexcept;
  void sleep(std::chrono::nanoseconds duration) const noexcept;

  const std::chrono::nanoseconds longest_;
  IdlePolicy policy_;
  std::vector<io::RxQueue*> all_queues_;
  std::vector<io::RxQueue*> queues_;  ///< those with an interrupt
  SleepCounters& counters_;
  Doorbell doorbell_;
  FileDescriptor epoll_;
  bool armed_ = false;
};

}  // namespace penumbra::runtime
