// SPDX-License-Identifier: Apache-2.0
#include "opportunistic/costs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace penumbra::opportunistic {
namespace {

constexpr double kBetter = 0.97;             ///< measuring is not exact
constexpr std::size_t kFew = 1, kChunk = 2;  ///< in kSizes
/// About what receiving, preparing and sending a whole chunk takes a worker, meanwhile the accelerator works.
constexpr double kRest = 2000;

/// Nanoseconds from one whole chunk to the next in a worker that does nothing but these.
double turn(const Costs& costs) {
  return std::max(costs[kChunk].busy + kRest, costs[kChunk].period);
}

}  // namespace

std::vector<double> to_figures(const Costs& costs) {
  std::vector<double> figures;
  for (const Cost& each : costs) figures.insert(figures.end(), {each.alone, each.busy, each.period});
  return figures;
}

std::optional<Costs> costs_of(std::span<const double> figures) {
  Costs costs;
  if (figures.size() != 3 * costs.size()) return std::nullopt;
  if (!std::ranges::all_of(figures, [](double each) { return std::isfinite(each) && each > 0; })) return std::nullopt;
  for (std::size_t i = 0; i < costs.size(); ++i) costs[i] = {figures[3 * i], figures[3 * i + 1], figures[3 * i + 2]};
  return costs;
}

Taken take_best(std::span<const MemberCosts> known, std::uint64_t max_delay) {
  const MemberCosts* light = &known.front();
  for (const MemberCosts& each : known) {
    if (each.costs[kFew].alone < kBetter * light->costs[kFew].alone) light = &each;
  }
  double shortest = turn(light->costs);
  const auto helps = [max_delay, by_light = shortest](const Costs& costs) {
    if (max_delay > 0 && costs[kChunk].alone > static_cast<double>(max_delay)) return false;
    return turn(costs) < kBetter * by_light;
  };
  for (const MemberCosts& each : known) {
    if (helps(each.costs)) shortest = std::min(shortest, turn(each.costs));
  }
  const MemberCosts* heavy = light;
  for (const MemberCosts& each : known) {
    if (!helps(each.costs) || kBetter * turn(each.costs) > shortest) continue;
    if (heavy == light || each.costs[kChunk].alone < heavy->costs[kChunk].alone) heavy = &each;
  }
  return {light->member, heavy->member};
}

double gain(const Costs& other, const Costs& one) {
  return other[kChunk].period / one[kChunk].period;
}

std::string describe(const Costs& costs) {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(), "%.2f, %.2f, %.2f us alone; %.2f us each of many, %.2f us of the worker",
                costs[0].alone * 1e-3, costs[kFew].alone * 1e-3, costs[kChunk].alone * 1e-3,
                costs[kChunk].period * 1e-3, costs[kChunk].busy * 1e-3);
  return text.data();
}

}  // namespace penumbra::opportunistic
