// SPDX-License-Identifier: Apache-2.0
//
// Costs of a batch on each engine, and the choice of an engine from the costs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace penumbra::opportunistic {

/// Items of a batch under light load, and of a full chunk.
inline constexpr std::uint32_t kFew = 8, kChunk = 64;

/// Costs of batches on an engine, in nanoseconds.
struct Costs {
  double few = 0;     ///< From submit to answer of kFew items, with no other batch in flight.
  double chunk = 0;   ///< From submit to answer of kChunk items, with no other batch in flight.
  double busy = 0;    ///< Worker time to submit and take back kChunk items.
  double period = 0;  ///< Between answers of kChunk items, when every worker has as many batches in flight as it can.

  bool operator==(const Costs&) const = default;
};
/// Conversion to EngineCalibration::figures.
inline constexpr std::size_t kCostFigures = 4;

std::array<double, kCostFigures> to_figures(const Costs& costs);
/// Converts the figures back. Returns none if they were not made by to_figures().
std::optional<Costs> costs_of(std::span<const double> figures);

/// Costs of the engine at position `member` of a list.
struct MemberCosts {
  std::size_t member = 0;
  Costs costs{};
};

/// Engines to use, by their positions in a list.
struct Taken {
  std::size_t light = 0;           ///< The engine that answers a few items soonest.
  std::vector<std::size_t> heavy;  ///< Further engines that are worth a trial under heavy load, the likeliest first.

  bool operator==(const Taken&) const = default;
};
/// Chooses among `known`, which has at least one element. Differences of a few percent do not count: the first engine
/// then serves light load. An engine is worth a trial if a full chunk takes at most kNear times as long as on the
/// fastest engine. The margin is wide because measurements are off by some tenths next to real work. The likeliest
/// engine is the fastest; among several about equally fast engines, it is the one that answers soonest. No engine is
/// worth a trial if it needs more than `max_delay` nanoseconds for a single full chunk (0: no limit).
inline constexpr double kNear = 2;
Taken take_best(std::span<const MemberCosts> known, std::uint64_t max_delay);

/// Returns the throughput of `one` relative to `other` with many full chunks in flight.
double gain(const Costs& other, const Costs& one);

/// Returns text for people: "8, 64 items 0.12, 0.61 us alone; 64 items 0.60 us each of many, 0.60 us of the worker".
std::string describe(const Costs& costs);

}  // namespace penumbra::opportunistic
