// SPDX-License-Identifier: Apache-2.0
//
// Estimates the gain of hints: the model of docs/gopt.md.
#pragma once

#include "profile.h"

namespace gopt {

class Model {
 public:
  /// `all`: the profile's counts for a foreach. `depth`: the number of an item's misses that depend on each other.
  Model(const Profile& profile, const Profile::Counts& all, size_t depth);

  bool knows_time() const { return knows_time_; }
  /// Returns true if the profile tells how the core overlaps misses without hints. Otherwise the bounds are far apart.
  bool knows_overlap() const { return knows_overlap_; }
  unsigned overlap() const { return static_cast<unsigned>(overlap_); }
  /// Return bounds of the speed-up if hints hide `hidden` misses.
  double least_factor(uint64_t hidden) const { return 1 / (1 - share_saved(hidden, overlap_)); }
  double most_factor(uint64_t hidden) const { return 1 / (1 - most_saved(hidden)); }
  /// Returns the maximum share of the time that hints save. Negative if the core alone overlaps the misses better.
  double most_saved(uint64_t hidden) const { return share_saved(hidden, knows_overlap_ ? overlap_ : 1); }

 private:
  double share_saved(uint64_t hidden, double overlap) const;

  double instructions_;
  double misses_;
  double overlap_ = 1;  ///< Misses that the core overlaps without hints.
  bool knows_time_;
  bool knows_overlap_;
};

}  // namespace gopt
