// SPDX-License-Identifier: Apache-2.0
//
// Who is where: the table of stations, the thread that learns from what workers saw and forgets who is silent, and what
// workers need to know of a station's entry.
//
// An entry's 16 bits are the port and a stamp: when the station was last seen, in fifteenths of the ageing time, modulo
// 30. A worker that sees a station whose stamp is not the current one tells, and so at most a few packets per station
// and fifteenth do.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "functions/l2/configuration.h"
#include "functions/learning/learner.h"
#include "tables/l2/stations.h"

namespace penumbra::l2 {

/// What is in the table of a station.
class Entry {
 public:
  static constexpr unsigned kStampBits = 5, kStamps = 30, kStatic = 31;
  static constexpr std::uint16_t kMostPort = (1 << (16 - kStampBits)) - 1;

  explicit Entry(std::uint16_t value) : value_(value) {}
  Entry(std::uint16_t port, unsigned stamp) : value_(static_cast<std::uint16_t>(port << kStampBits | stamp)) {}

  bool is_known() const { return value_ != StationTable::kUnknown; }
  bool is_static() const { return stamp() == kStatic; }
  std::uint16_t port() const { return static_cast<std::uint16_t>(value_ >> kStampBits); }
  unsigned stamp() const { return value_ & ((1U << kStampBits) - 1); }  ///< 1 to kStamps, or kStatic
  std::uint16_t value() const { return value_; }

 private:
  std::uint16_t value_;
};

/// What a worker saw: a station that sent a frame.
struct Sighting {
  std::uint64_t key = 0;  ///< Station::key()
  std::uint32_t port = 0;
  std::uint32_t unused = 0;
};

struct LearningCounts {
  std::uint64_t learned = 0;      ///< stations that came
  std::uint64_t moved = 0;        ///< to another port
  std::uint64_t aged = 0;         ///< that were silent for the ageing time
  std::uint64_t removed = 0;      ///< by a reload: their port is no more in the VLAN, or they are static now
  std::uint64_t flushed = 0;      ///< because their port's link went down
  std::uint64_t not_learned = 0;  ///< frames of stations that there was no room for (max_stations)
  std::uint64_t untold = 0;       ///< frames of stations that more could not be told of at a time
};

class StationManager {
 public:
  using Clock = std::chrono::steady_clock;

  explicit StationManager(GracePeriods& grace_periods);

  /// Sets ageing, limits and the static stations. Before start().
  void configure(const Configuration& configuration);
  /// The thread begins. Throws std::system_error.
  void start() { learner_.start(); }
  /// From one configuration to another while workers run: static stations that are no more go, others come; learned
  /// ones go whose port left the VLAN. If it throws (std::bad_alloc, std::length_error), nothing has changed.
  void reconfigure(const Configuration& before, const Configuration& after);

  /// The port's link went down: the thread forgets, at its next turn, who was learned there. Never waits.
  void flush(std::uint16_t port) noexcept;

  // For workers:
  unsigned stamp() const noexcept { return stamp_.load(std::memory_order_relaxed); }
  /// A station that is new, has moved, or has an old stamp sent a frame. Returns false, having counted it, if it will
  /// not be learned of that: there is no room for it, or too much waits.
  bool tell(std::uint64_t key, std::uint16_t port, bool is_new) noexcept;
  Table& table() { return stations_.table(); }

  // For anybody:
  /// All that there are, in no order; nothing is learned meanwhile.
  void for_each(const std::function<void(Station station, Entry entry)>& visit) const;
  /// For how long a station is silent, to a fifteenth of the ageing time.
  std::chrono::seconds silence(Entry entry) const;
  LearningCounts counts() const;
  std::size_t size() const;
  std::size_t memory_bytes() const;

 private:
  static constexpr unsigned kPhases = 15;  ///< of the ageing time

  void take(std::span<const Sighting> sightings);
  void learn(const Sighting& sighting);
  void tick(Clock::time_point now);
  void forget_silent();
  void forget_flushed();
  unsigned phases_since(unsigned stamp) const;
  void apply(const Configuration& configuration);
  void put_static(const Configuration& configuration);
  std::size_t remove_if(const std::function<bool(Station station, Entry entry)>& unwanted);

  mutable std::mutex mutex_;  ///< of the table's owner and what belongs to it; workers take none
  StationTable stations_;
  std::size_t max_stations_ = 0;
  Clock::duration phase_{0};  ///< 0: nobody is forgotten
  Clock::time_point phase_began_;
  std::atomic<unsigned> stamp_{1};
  std::atomic<bool> full_{false};
  std::atomic<bool> flush_wanted_{false};
  std::array<std::atomic<bool>, Entry::kMostPort + 1> flushed_ports_{};
  std::atomic<std::uint64_t> learned_{0}, moved_{0}, aged_{0}, removed_{0}, flushed_{0}, not_learned_{0}, untold_{0};
  Learner<Sighting> learner_;  ///< its thread ends before what it changes
};

}  // namespace penumbra::l2
