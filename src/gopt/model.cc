// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <algorithm>

namespace gopt {
namespace {

// In cycles.
constexpr double kPerInstruction = 0.5;
constexpr double kPerMiss = 200;
constexpr double kPerSwitch = 30;  // prefetch, save, a jump that is often guessed wrong, restore

constexpr double kMostOverlap = 10;   // misses that a core can wait for at a time
constexpr double kLookahead = 256;    // instructions that it has begun and not ended
constexpr double kBetterGuesses = 2;  // it guesses branches better than cachegrind does

}  // namespace

Model::Model(const Profile& profile, const Profile::Counts& all, size_t depth)
    : instructions_(static_cast<double>(all.instructions)),
      misses_(static_cast<double>(all.misses)),
      knows_time_(profile.has_instructions),
      knows_overlap_(profile.has_instructions && profile.has_branches) {
  if (instructions_ == 0) return;
  // The core looks ahead to the next branch that it guesses wrong.
  const double wrong = static_cast<double>(all.wrong_branches);
  const double ahead = std::min(kLookahead, kBetterGuesses * instructions_ / std::max(wrong, 1.0));
  const double in_sight = ahead * misses_ / instructions_ / static_cast<double>(std::max<size_t>(depth, 1));
  overlap_ = std::clamp(in_sight, 1.0, kMostOverlap);
}

double Model::share_saved(uint64_t hidden, double overlap) const {
  const double time = kPerInstruction * instructions_ + kPerMiss * misses_ / overlap;
  const double saved = kPerMiss / overlap - kPerMiss / kMostOverlap - kPerSwitch;
  return time > 0 ? saved * static_cast<double>(hidden) / time : 0;
}

}  // namespace gopt
