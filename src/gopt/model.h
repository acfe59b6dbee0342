// SPDX-License-Identifier: Apache-2.0
//
// What hints gain, roughly: the model of docs/gopt.md.
#pragma once

#include "profile.h"

namespace gopt {

class Model {
 public:
  /// `all`: what the profile counts of a foreach. `depth`: how many of an item's misses wait for each other.
  Model(const Profile& profile, const Profile::Counts& all, size_t depth);

  bool knows_time() const { return knows_time_; }
  /// Whether the core overlaps misses by itself; else all bounds are far apart.
  bool knows_overlap() const { return knows_overlap_; }
  unsigned overlap() const { return static_cast<unsigned>(overlap_); }
  /// How many times as fast it is if hints take care of so many misses: at least, and at most.
  double least_factor(uint64_t hidden) const { return 1 / (1 - share_saved(hidden, overlap_)); }
  double most_factor(uint64_t hidden) const { return 1 / (1 - most_saved(hidden)); }
  /// The share of the time that is saved then, at most. Below zero if the core overlaps the misses better by itself.
  double most_saved(uint64_t hidden) const { return share_saved(hidden, knows_overlap_ ? overlap_ : 1); }

 private:
  double share_saved(uint64_t hidden, double overlap) const;

  double instructions_;
  double misses_;
  double overlap_ = 1;  ///< misses that the core waits for at a time by itself, without a hint
  bool knows_time_;
  bool knows_overlap_;
};

}  // namespace gopt
