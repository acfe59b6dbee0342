// SPDX-License-Identifier: Apache-2.0
#include "schedule.h"

#include <algorithm>
#include <utility>

namespace penumbra::bench {
namespace {

constexpr double kMostDifference = 4;  ///< Largest expected speed difference between machines.
constexpr double kTelling = 10;        ///< Seconds from which a duration indicates the machine's speed.
constexpr unsigned kSpread = 3;        ///< Rounds that yield a median and a spread.
constexpr double kLittle = 0.025;  ///< Share of the budget that is exceeded to give the next benchmark kSpread rounds.

double sum(std::span<const Cost> costs, unsigned rounds) {
  double seconds = 0;
  for (const Cost& cost : costs) seconds += cost.of(rounds);
  return seconds;
}

}  // namespace

Schedule::Schedule(std::vector<Cost> costs, unsigned rounds, std::optional<double> budget)
    : costs_(std::move(costs)), rounds_(rounds), budget_(budget) {}

double Schedule::slowness() const {
  return expected_ < kTelling ? 1 : std::clamp(measured_ / expected_, 1 / kMostDifference, kMostDifference);
}

/// True if `one` takes precedence over `other`: the papers' measurements before others, then the cheapest.
bool Schedule::is_before(const Cost& one, const Cost& other) {
  return std::pair(one.is_ours_alone, one.of(1)) < std::pair(other.is_ours_alone, other.of(1));
}

/// Returns the remaining benchmarks that fit into the rest of the budget with one round each.
std::vector<Cost> Schedule::fitting() const {
  std::vector<Cost> candidates(remaining().begin(), remaining().end());
  std::ranges::sort(candidates, is_before);
  const double seconds = (budget_.value_or(0) - spent_) / slowness();
  std::vector<Cost> chosen;
  for (const Cost& candidate : candidates) {
    if (sum(chosen, 1) + candidate.of(1) <= seconds) chosen.push_back(candidate);
  }
  return chosen;
}

/// Returns the rounds that fit if all of `chosen` get equally many.
unsigned Schedule::even_rounds(std::span<const Cost> chosen) const {
  if (!budget_) return rounds_;
  const double seconds = (*budget_ - spent_) / slowness();
  unsigned rounds = 1;
  while (rounds < rounds_ && sum(chosen, rounds + 1) <= seconds) ++rounds;
  return rounds;
}

unsigned Schedule::rounds_of_next() const {
  if (!budget_) return rounds_;
  const std::vector<Cost> chosen = fitting();
  const Cost& next = costs_[next_];
  const auto is_like_next = [&](const Cost& cost) { return !is_before(cost, next) && !is_before(next, cost); };
  if (std::ranges::none_of(chosen, is_like_next)) return 0;
  unsigned rounds = even_rounds(chosen);
  const double room = (*budget_ - spent_) / slowness() - (sum(chosen, 1) - next.of(1));
  const double most = std::min(room, next.of(rounds) + kLittle * *budget_ / slowness());
  while (rounds < std::min(rounds_, kSpread) && next.of(rounds + 1) <= most) ++rounds;
  return rounds;
}

void Schedule::took(unsigned rounds, double seconds) {
  spent_ += seconds;
  if (rounds != 0) {
    expected_ += costs_[next_].of(rounds);
    measured_ += seconds;
  }
  ++next_;
}

double Schedule::left(double into_next) const {
  if (next_ == costs_.size()) return 0;
  const double next = std::max(costs_[next_].of(std::max(rounds_of_next(), 1U)) * slowness() - into_next, 0.0);
  const double all = next + sum(remaining().subspan(1), even_rounds(fitting())) * slowness();
  return budget_ ? std::min(all, std::max(*budget_ - spent_ - into_next, 0.0)) : all;
}

}  // namespace penumbra::bench
