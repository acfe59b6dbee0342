// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "functions/ids/detect/eve.h"
#include "functions/ids/pipeline/eve_output.h"
#include "functions/learning/learner.h"
#include "penumbra/per_worker.h"

namespace penumbra::ids {

/// Says where events are written, and which.
struct EveSettings {
  std::string target;             ///< "FILE" or "unix:PATH", absolute; empty: no events are written.
  std::uint8_t kinds = 0xFF;      ///< A bit for each Event::Kind.
  std::chrono::seconds stats{0};  ///< Between two events "stats"; 0: there are none.
  bool operator==(const EveSettings&) const = default;
};

/// Writes the events of all workers on a thread of its own.
class EveWriter {
 public:
  static constexpr std::size_t kEvents = 8192;                      ///< That may wait, of each worker.
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;  ///< Bytes of members that may wait.
  /// Returns the members of an event "stats". The thread calls it.
  using Statistics = std::function<std::string()>;

  /// Opens the target and starts the thread. Throws as EveOutput() and Learner do.
  EveWriter(const EveSettings& settings, EveFormat format, std::size_t workers, Statistics statistics);
  /// Writes all events, and the last statistics.
  ~EveWriter();
  EveWriter(const EveWriter&) = delete;
  EveWriter& operator=(const EveWriter&) = delete;

  bool wants(Event::Kind kind) const { return (settings_.kinds >> static_cast<unsigned>(kind) & 1) != 0; }
  /// Hands an event over, with further members as JSON text. Does not wait. A full ring or too many bytes lose the
  /// event, which is counted.
  void report(std::uint16_t worker, const Event& event, const std::string& members) noexcept;

  std::uint64_t written() const { return written_.load(std::memory_order_relaxed); }
  /// Returns how many events a full ring, a full disk or a missing reader has lost.
  std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed) + counts_.sum(kLost); }
  /// Returns how many events were handed over, and how many of them the thread is done with. Rules of an event may be
  /// freed once the second number has reached the first.
  std::uint64_t reported() const { return counts_.sum(kReported); }
  std::uint64_t done() const { return taken_.load(std::memory_order_acquire) + counts_.sum(kLost); }

 private:
  enum Count : std::uint8_t { kReported, kLost, kCounts };
  struct Reported {
    Event event;
    std::string* members;  ///< Owned, or null.
  };

  void take(std::span<const Reported> events);
  void write_statistics();
  void write(std::size_t events);

  EveSettings settings_;
  EveFormat format_;
  EveOutput output_;
  std::string lines_;
  std::atomic<std::uint64_t> written_{0}, lost_{0}, taken_{0};
  Counters<kCounts> counts_;
  Statistics statistics_;
  std::chrono::steady_clock::time_point next_statistics_;
  std::atomic<std::size_t> waiting_{0};  ///< Bytes of members.
  std::optional<Learner<Reported>> learner_;
};

}  // namespace penumbra::ids
