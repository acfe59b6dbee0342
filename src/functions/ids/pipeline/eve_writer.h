// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "functions/ids/detect/eve.h"
#include "functions/ids/pipeline/eve_output.h"
#include "functions/learning/learner.h"
#include "penumbra/per_worker.h"

namespace penumbra::ids {

/// Writes the events of all workers on a thread of its own.
class EveWriter {
 public:
  static constexpr std::size_t kEvents = 8192;  ///< That may wait, of each worker.

  /// Opens `target` and starts the thread. Throws as EveOutput() and Learner do.
  EveWriter(const std::string& target, EveFormat format, std::size_t workers);

  /// Hands an event over. Neither waits nor allocates. A full ring loses the event, which is counted.
  void report(std::uint16_t worker, const Event& event) noexcept;

  std::uint64_t written() const { return written_.load(std::memory_order_relaxed); }
  /// Returns how many events a full ring, a full disk or a missing reader has lost.
  std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed) + counts_.sum(kLost); }
  /// Returns how many events were handed over, and how many of them the thread is done with. Rules of an event may be
  /// freed once the second number has reached the first.
  std::uint64_t reported() const { return counts_.sum(kReported); }
  std::uint64_t done() const { return taken_.load(std::memory_order_acquire) + counts_.sum(kLost); }

 private:
  enum Count : std::uint8_t { kReported, kLost, kCounts };

  void take(std::span<const Event> events);

  EveFormat format_;
  EveOutput output_;
  std::string lines_;
  std::atomic<std::uint64_t> written_{0}, lost_{0}, taken_{0};
  Counters<kCounts> counts_;
  Learner<Event> learner_;  ///< The last member: its thread uses the others.
};

}  // namespace penumbra::ids
