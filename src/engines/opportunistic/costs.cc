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

Taken take_best(std::span<const std::optional<Costs>> costs, std::uint64_t max_delay) {
  const auto can_be_used = [](const auto& each) { return each.has_value(); };
  const auto first = static_cast<std::size_t>(std::ranges::find_if(costs, can_be_used) - costs.begin());
  Taken taken{first, first};
  for (std::size_t i = first; i < costs.size(); ++i) {
    if (costs[i] && (*costs[i])[kFew].alone < kBetter * (*costs[taken.light])[kFew].alone) taken.light = i;
  }
  const double by_light = turn(*costs[taken.light]);
  const auto helps = [&](const std::optional<Costs>& each) {
    if (!each || (max_delay > 0 && (*each)[kChunk].alone > static_cast<double>(max_delay))) return false;
    return turn(*each) < kBetter * by_light;
  };
  double shortest = by_light;
  for (const auto& each : costs) {
    if (helps(each)) shortest = std::min(shortest, turn(*each));
  }
  taken.heavy = taken.light;
  for (std::size_t i = first; i < costs.size(); ++i) {
    if (!helps(costs[i]) || kBetter * turn(*costs[i]) > shortest) continue;
    const bool is_none_yet = taken.heavy == taken.light;
    if (is_none_yet || (*costs[i])[kChunk].alone < (*costs[taken.heavy])[kChunk].alone) taken.heavy = i;
  }
  return taken;
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
