// SPDX-License-Identifier: Apache-2.0
#include "functions/l2/station_manager.h"

#include <algorithm>
#include <bitset>
#include <new>
#include <random>
#include <stdexcept>

#include "base/counter.h"

namespace penumbra::l2 {
namespace {

constexpr std::size_t kMostWaiting = 65'536;
constexpr std::chrono::milliseconds kTurn{20};

/// Returns a random seed, so that nobody can choose addresses that collide in a bucket.
std::uint64_t secret() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

Station station_of(std::uint64_t key) {
  constexpr std::uint64_t kMac = 0xFFFF'FFFF'FFFF;
  return {static_cast<std::uint16_t>(key >> 48), {key & kMac}};
}

}  // namespace

StationManager::StationManager(GracePeriods& grace_periods, std::size_t workers)
    : stations_(secret(), grace_periods),
      learner_("l2-learner", workers, kMostWaiting, kTurn, [this](auto sightings) { take(sightings); }) {}

void StationManager::configure(const Configuration& configuration) {
  const std::lock_guard lock(mutex_);
  put_static(configuration);
  apply(configuration);
}

void StationManager::apply(const Configuration& configuration) {
  max_stations_ = configuration.max_stations;
  phase_ = Clock::duration(std::chrono::seconds(configuration.ageing)) / kPhases;
  phase_began_ = Clock::now();
  full_.store(stations_.size() >= max_stations_, std::memory_order_relaxed);
}

/// Adds all static stations, or none if it throws.
void StationManager::put_static(const Configuration& configuration) {
  std::vector<std::pair<Station, std::uint16_t>> before;
  before.reserve(configuration.static_stations.size());
  try {
    for (const auto& [station, port] : configuration.static_stations) {
      before.emplace_back(station, stations_.find(station));
      stations_.insert(station, Entry(port, Entry::kStatic).value());
    }
  } catch (...) {
    for (const auto& [station, value] : before) {
      if (value == StationTable::kUnknown) {
        stations_.remove(station);
      } else {
        stations_.insert(station, value);
      }
    }
    stations_.commit();
    throw;
  }
  stations_.commit();
}

void StationManager::reconfigure(const Configuration& before, const Configuration& after) {
  const std::lock_guard lock(mutex_);
  put_static(after);
  for (const auto& [station, port] : before.static_stations) {
    if (!after.static_stations.contains(station)) stations_.remove(station);
  }
  const auto left = [&](Station station, Entry entry) { return !after.ports[entry.port()].vlans.test(station.vlan); };
  count(removed_, remove_if(left));
  stations_.commit();
  apply(after);
}

bool StationManager::tell(std::size_t worker, std::uint64_t key, std::uint16_t port, bool is_new) noexcept {
  if (is_new && full_.load(std::memory_order_relaxed)) [[unlikely]] {
    count(not_learned_);
    return false;
  }
  const bool reported = learner_.report(worker, {.key = key, .port = port});
  if (!reported) count(untold_);
  return reported;
}

void StationManager::take(std::span<const Sighting> sightings) {
  const std::lock_guard lock(mutex_);
  for (const Sighting& sighting : sightings) learn(sighting);
  forget_flushed();  // after the last sightings on flushed ports
  tick(Clock::now());
  stations_.commit();
}

void StationManager::learn(const Sighting& sighting) {
  const Station station = station_of(sighting.key);
  const Entry known(stations_.find(station));
  const Entry wanted(static_cast<std::uint16_t>(sighting.port), stamp());
  if (known.is_static() || known.value() == wanted.value()) return;
  if (!known.is_known() && stations_.size() >= max_stations_) return count(not_learned_);
  try {
    stations_.insert(station, wanted.value());
  } catch (const std::length_error&) {
    return count(not_learned_);
  } catch (const std::bad_alloc&) {
    return count(not_learned_);
  }
  if (!known.is_known()) {
    count(learned_);
    full_.store(stations_.size() >= max_stations_, std::memory_order_relaxed);
  } else if (known.port() != wanted.port()) {
    count(moved_);
  }
}

/// Advances by all phases that have passed, even if the thread has not run for a long time, and ages stations in each
/// phase.
void StationManager::tick(Clock::time_point now) {
  if (phase_ == Clock::duration::zero()) return;
  for (; now - phase_began_ >= phase_; phase_began_ += phase_) {
    stamp_.store(stamp() % Entry::kStamps + 1, std::memory_order_relaxed);
    forget_silent();
  }
}

unsigned StationManager::phases_since(unsigned stamp) const {
  return (this->stamp() + Entry::kStamps - stamp) % Entry::kStamps;
}

/// Removes the stations that were last seen in a phase that ended more than kPhases ago.
void StationManager::forget_silent() {
  const auto is_silent = [this](Station, Entry entry) { return phases_since(entry.stamp()) > kPhases; };
  count(aged_, remove_if(is_silent));
}

void StationManager::flush(std::uint16_t port) noexcept {
  flushed_ports_[port].store(true, std::memory_order_relaxed);
  flush_wanted_.store(true, std::memory_order_release);
}

void StationManager::forget_flushed() {
  if (!flush_wanted_.exchange(false, std::memory_order_acquire)) return;
  std::bitset<Entry::kMostPort + 1> ports;
  for (std::size_t port = 0; port < ports.size(); ++port) {
    ports[port] = flushed_ports_[port].exchange(false, std::memory_order_relaxed);
  }
  count(flushed_, remove_if([&ports](Station, Entry entry) { return ports[entry.port()]; }));
}

/// Removes learned stations only. Returns their number.
std::size_t StationManager::remove_if(const std::function<bool(Station, Entry)>& unwanted) {
  std::vector<Station> going;
  stations_.for_each([&](Station station, std::uint16_t value) {
    const Entry entry(value);
    if (!entry.is_static() && unwanted(station, entry)) going.push_back(station);
  });
  for (const Station station : going) stations_.remove(station);
  if (!going.empty()) full_.store(stations_.size() >= max_stations_, std::memory_order_relaxed);
  return going.size();
}

void StationManager::for_each(const std::function<void(Station, Entry)>& visit) const {
  const std::lock_guard lock(mutex_);
  stations_.for_each([&](Station station, std::uint16_t value) { visit(station, Entry(value)); });
}

std::chrono::seconds StationManager::silence(Entry entry) const {
  const std::lock_guard lock(mutex_);
  if (entry.is_static()) return {};
  return std::chrono::duration_cast<std::chrono::seconds>(phase_ * phases_since(entry.stamp()));
}

LearningCounts StationManager::counts() const {
  const auto get = [](const auto& counter) { return counter.load(std::memory_order_relaxed); };
  return {.learned = get(learned_),
          .moved = get(moved_),
          .aged = get(aged_),
          .removed = get(removed_),
          .flushed = get(flushed_),
          .not_learned = get(not_learned_),
          .untold = get(untold_)};
}

std::size_t StationManager::size() const {
  const std::lock_guard lock(mutex_);
  return stations_.size();
}

std::size_t StationManager::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  return stations_.memory_bytes();
}

}  // namespace penumbra::l2
