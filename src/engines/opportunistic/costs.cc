// SPDX-License-Identifier: Apache-2.0
#include "opportunistic/costs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace penumbra::opportunistic {
namespace {

constexpr double kBetter = 0.97;  ///< Tolerance of the measurements.
/// Nanoseconds in which a worker receives, prepares and sends a full chunk. The accelerator works meanwhile.
constexpr double kRest = 2000;

/// Returns the nanoseconds between full chunks of a worker that has no other work.
double turn(const Costs& costs) {
  return std::max(costs.busy + kRest, costs.period);
}

}  // namespace

std::array<double, kCostFigures> to_figures(const Costs& costs) {
  return {costs.few, costs.chunk, costs.busy, costs.period};
}

std::optional<Costs> costs_of(std::span<const double> figures) {
  if (figures.size() != kCostFigures) return std::nullopt;
  if (!std::ranges::all_of(figures, [](double each) { return std::isfinite(each) && each > 0; })) return std::nullopt;
  return Costs{.few = figures[0], .chunk = figures[1], .busy = figures[2], .period = figures[3]};
}

Taken take_best(std::span<const MemberCosts> known, std::uint64_t max_delay) {
  const MemberCosts* light = &known.front();
  for (const MemberCosts& each : known) {
    if (each.costs.few < kBetter * light->costs.few) light = &each;
  }
  std::vector<const MemberCosts*> others;
  for (const MemberCosts& each : known) {
    const bool is_in_time = max_delay == 0 || each.costs.chunk <= static_cast<double>(max_delay);
    if (&each != light && is_in_time) others.push_back(&each);
  }
  const auto turn_of = [](const MemberCosts* each) { return turn(each->costs); };
  std::ranges::stable_sort(others, {}, turn_of);
  if (!others.empty()) {
    const double shortest = turn_of(others.front());
    const auto end_of_near = std::ranges::find_if(others, [&](const MemberCosts* each) {
      return turn_of(each) > kNear * std::min(shortest, turn(light->costs));
    });
    others.erase(end_of_near, others.end());
    const auto end_of_best =
        std::ranges::find_if(others, [&](const MemberCosts* each) { return kBetter * turn_of(each) > shortest; });
    std::ranges::stable_sort(others.begin(), end_of_best, {}, [](const auto* each) { return each->costs.chunk; });
  }
  Taken taken{light->member, {}};
  for (const MemberCosts* const each : others) taken.heavy.push_back(each->member);
  return taken;
}

double gain(const Costs& other, const Costs& one) {
  return other.period / one.period;
}

std::string describe(const Costs& costs) {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(),
                "%u, %u items %.2f, %.2f us alone; %u items %.2f us each of many, %.2f us of the worker", kFew, kChunk,
                costs.few * 1e-3, costs.chunk * 1e-3, kChunk, costs.period * 1e-3, costs.busy * 1e-3);
  return text.data();
}

}  // namespace penumbra::opportunistic
