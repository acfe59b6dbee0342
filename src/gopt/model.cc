// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <algorithm>

namespace gopt {
namespace {

// All costs are in cycles.
constexpr double kPerInstruction = 0.5;
constexpr double kPerMiss = 200;
constexpr double kPerSwitch = 30;  // Prefetch, save, an often mispredicted jump, restore.

constexpr double kMostOverlap = 10;   // Misses that a core can overlap.
constexpr double kLookahead = 256;    // Size of the core's instruction window.
constexpr double kBetterGuesses = 2;  // The core predicts branches better than cachegrind does.

}  // namespace

Model::Model(const Profile& profile, const Profile::Counts& all, size_t depth)
    : instructions_(static_cast<double>(all.instructions)),
      misses_(static_cast<double>(all.misses)),
      knows_time_(profile.has_instructions),
      knows_overlap_(profile.has_instructions && profile.has_branches) {
  if (instructions_ == 0) return;
  // The instruction window ends at the next mispredicted branch.
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
