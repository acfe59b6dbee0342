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

/// Of a batch of one size, in nanoseconds.
struct Cost {
  double alone = 0;   ///< from submit to the answer, nothing else in flight
  double busy = 0;    ///< of the worker's time, for submitting and taking back
  double period = 0;  ///< between answers, when as many as a worker has are in flight, of every worker

  bool operator==(const Cost&) const = default;
};

/// Items of a batch: one packet, a few, a whole chunk.
inline constexpr std::array<std::uint32_t, 3> kSizes{1, 8, 64};
using Costs = std::array<Cost, kSizes.size()>;

/// As EngineFinding::figures has them, and back; none if these are not figures of ours.
std::vector<double> to_figures(const Costs& costs);
std::optional<Costs> costs_of(std::span<const double> figures);

/// What is known of an engine, by its place in a list.
struct MemberCosts {
  std::size_t member = 0;
  Costs costs{};
};

/// Engines by their places in a list.
struct Taken {
  std::size_t light = 0;  ///< answers a few items soonest
  std::size_t heavy = 0;  ///< gets most whole chunks done

  bool operator==(const Taken&) const = default;
};
/// Among these, at least one. Differences of a few parts in a hundred do not count: then the first one is taken under
/// light load, and under heavy load that same one, or of several that are better the one that answers soonest. Under
/// heavy load none but that same one is taken that needs more than `max_delay` nanoseconds for a whole chunk alone (0:
/// no matter how long).
Taken take_best(std::span<const MemberCosts> known, std::uint64_t max_delay);

/// How many times as many whole chunks `one` gets done as `other` with many in flight.
double gain(const Costs& other, const Costs& one);

/// For people: "0.05, 0.12, 0.61 us alone; 0.60 us each of many, 0.60 us of the worker".
std::string describe(const Costs& costs);

}  // namespace penumbra::opportunistic
