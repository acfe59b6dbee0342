// SPDX-License-Identifier: Apache-2.0
//
// What a batch costs on each engine, and which engine is to be taken for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace penumbra::opportunistic {

/// Items of a batch under light load, and of a whole chunk.
inline constexpr std::uint32_t kFew = 8, kChunk = 64;

/// Of batches on an engine, in nanoseconds.
struct Costs {
  double few = 0;     ///< from submit to the answer of kFew items, nothing else in flight
  double chunk = 0;   ///< likewise of kChunk items
  double busy = 0;    ///< of the worker's time for kChunk items, for submitting and taking back
  double period = 0;  ///< between answers of kChunk items, when as many as a worker has are in flight, of every worker

  bool operator==(const Costs&) const = default;
};
/// As EngineCalibration::figures has them.
inline constexpr std::size_t kCostFigures = 4;

std::array<double, kCostFigures> to_figures(const Costs& costs);
/// Back; none if these are not figures of ours.
std::optional<Costs> costs_of(std::span<const double> figures);

/// What is known of an engine, by its place in a list.
struct MemberCosts {
  std::size_t member = 0;
  Costs costs{};
};

/// Engines by their places in a list.
struct Taken {
  std::size_t light = 0;           ///< answers a few items soonest
  std::vector<std::size_t> heavy;  ///< others that are worth a trial under heavy load, the likeliest first

  bool operator==(const Taken&) const = default;
};
/// Among these, at least one. Differences of a few parts in a hundred do not count: then the first one is taken under
/// light load. Worth a trial is what may get most whole chunks done although what was measured is wrong by some tenths,
/// as it is beside real work: all that need at most kNear times as long for one as the fastest. The likeliest is the
/// fastest, or of several that are about as fast the one that answers soonest. None is worth it that needs more than
/// `max_delay` nanoseconds for a whole chunk alone (0: no matter how long).
inline constexpr double kNear = 2;
Taken take_best(std::span<const MemberCosts> known, std::uint64_t max_delay);

/// How many times as many whole chunks `one` gets done as `other` with many in flight.
double gain(const Costs& other, const Costs& one);

/// For people: "8, 64 items 0.12, 0.61 us alone; 64 items 0.60 us each of many, 0.60 us of the worker".
std::string describe(const Costs& costs);

}  // namespace penumbra::opportunistic
