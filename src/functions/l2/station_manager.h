// SPDX-License-Identifier: Apache-2.0
//
// Manages the table of stations: the thread that learns and ages stations, and the entries that workers read.
//
// An entry has 16 bits: the port and a stamp. The stamp is the time at which the station was last seen, in fifteenths
// of the ageing time, modulo 30. A worker reports a station only if its stamp is not the current one. So only few
// packets of each station cause a report in each fifteenth of the ageing time.
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

/// Represents an entry of the table of stations.
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

/// Holds the report of a worker about a station that sent a frame.
struct Sighting {
  std::uint64_t key = 0;  ///< Station::key()
  std::uint32_t port = 0;
  std::uint32_t unused = 0;
};

struct LearningCounts {
  std::uint64_t learned = 0;      ///< new stations
  std::uint64_t moved = 0;        ///< stations that moved to another port
  std::uint64_t aged = 0;         ///< stations that sent no frame for the ageing time
  std::uint64_t removed = 0;      ///< stations that a reload removed: their port left the VLAN, or they became static
  std::uint64_t flushed = 0;      ///< stations that were removed because the link of their port went down
  std::uint64_t not_learned = 0;  ///< frames of stations that exceed max_stations
  std::uint64_t untold = 0;       ///< frames whose reports were lost because too many reports were waiting
};

class StationManager {
 public:
  using Clock = std::chrono::steady_clock;

  StationManager(GracePeriods& grace_periods, std::size_t workers);

  /// Sets ageing, limits and the static stations. Must be called before start().
  void configure(const Configuration& configuration);
  /// Starts the thread. Throws std::system_error.
  void start() { learner_.start(); }
  /// Changes the configuration while workers run. Adds and removes static stations, and removes learned stations whose
  /// port left the VLAN. An exception (std::bad_alloc, std::length_error) leaves everything unchanged.
  void reconfigure(const Configuration& before, const Configuration& after);

  /// Removes the stations of a port whose link went down. The thread removes them in its next turn. Never waits.
  void flush(std::uint16_t port) noexcept;

  // Workers may call the following functions.
  unsigned stamp() const noexcept { return stamp_.load(std::memory_order_relaxed); }
  /// Reports a frame of a station that is new, has moved, or has an old stamp. Returns false and counts the frame if
  /// the station cannot be learned from it. The table is full, or too many reports are waiting.
  bool tell(std::size_t worker, std::uint64_t key, std::uint16_t port, bool is_new) noexcept;
  Table& table() { return stations_.table(); }

  // Any thread may call the following functions.
  /// Visits all stations in no particular order. Learning waits until the call returns.
  void for_each(const std::function<void(Station station, Entry entry)>& visit) const;
  /// Returns the time since the station was last seen, with a resolution of a fifteenth of the ageing time.
  std::chrono::seconds silence(Entry entry) const;
  LearningCounts counts() const;
  std::size_t size() const;
  std::size_t memory_bytes() const;

 private:
  static constexpr unsigned kPhases = 15;  ///< phases of the ageing time

  void take(std::span<const Sighting> sightings);
  void learn(const Sighting& sighting);
  void tick(Clock::time_point now);
  void forget_silent();
  void forget_flushed();
  unsigned phases_since(unsigned stamp) const;
  void apply(const Configuration& configuration);
  void put_static(const Configuration& configuration);
  std::size_t remove_if(const std::function<bool(Station station, Entry entry)>& unwanted);

  mutable std::mutex mutex_;  ///< guards the table's owner and its related state; workers do not take it
  StationTable stations_;
  std::size_t max_stations_ = 0;
  Clock::duration phase_{0};  ///< 0: stations never age
  Clock::time_point phase_began_;
  std::atomic<unsigned> stamp_{1};
  std::atomic<bool> full_{false};
  std::atomic<bool> flush_wanted_{false};
  std::array<std::atomic<bool>, Entry::kMostPort + 1> flushed_ports_{};
  std::atomic<std::uint64_t> learned_{0}, moved_{0}, aged_{0}, removed_{0}, flushed_{0}, not_learned_{0}, untold_{0};
  Learner<Sighting> learner_;  ///< declared last, so that its thread ends before the members that it changes
};

}  // namespace penumbra::l2
