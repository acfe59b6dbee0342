// SPDX-License-Identifier: Apache-2.0
#include "opportunistic/costs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace penumbra::opportunistic {
namespace {

constexpr double kBetter = 0.97;  ///< measuring is not exact
/// About what receiving, preparing and sending a whole chunk takes a worker, meanwhile the accelerator works.
constexpr double kRest = 2000;

/// Nanoseconds from one whole chunk to the next in a worker that does nothing but these.
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
  double shortest = turn(light->costs);
  const auto helps = [max_delay, by_light = shortest](const Costs& costs) {
    if (max_delay > 0 && costs.chunk > static_cast<double>(max_delay)) return false;
    return turn(costs) < kBetter * by_light;
  };
  for (const MemberCosts& each : known) {
    if (helps(each.costs)) shortest = std::min(shortest, turn(each.costs));
  }
  const MemberCosts* heavy = light;
  for (const MemberCosts& each : known) {
    if (!helps(each.costs) || kBetter * turn(each.costs) > shortest) continue;
    if (heavy == light || each.costs.chunk < heavy->costs.chunk) heavy = &each;
  }
  return {light->member, heavy->member};
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
