// SPDX-License-Identifier: Apache-2.0
//
// How much of what is asked for fits into the time that there is.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bench.h"

namespace penumbra::bench {

/// What remains to be measured, in order, and how long this machine takes for it in comparison with what is expected.
class Schedule {
 public:
  /// With a budget, `rounds` are the most.
  Schedule(std::vector<Cost> costs, unsigned rounds, std::optional<double> budget);

  /// Rounds for the next one: what fits if all others that can be measured get as many, or three if that costs little
  /// more and leaves one to all others. 0: it is left out, because the budget has no room for one round of it; room
  /// is given to the papers' measurements first, and of these and of others to the cheapest ones.
  unsigned rounds_of_next() const;
  /// The next one was measured in so many rounds and took so long; or, with 0 rounds, was not measured.
  void took(unsigned rounds, double seconds);

  /// How many there are, and how many are done.
  std::size_t size() const { return costs_.size(); }
  std::size_t done() const { return next_; }
  /// Seconds for all that remains, the next one included, `into_next` of which have passed.
  double left(double into_next) const;

 private:
  std::span<const Cost> remaining() const { return std::span(costs_).subspan(next_); }
  static bool is_before(const Cost& one, const Cost& other);
  std::vector<Cost> fitting() const;
  unsigned even_rounds(std::span<const Cost> chosen) const;
  double slowness() const;

  std::vector<Cost> costs_;
  unsigned rounds_;
  std::optional<double> budget_;
  std::size_t next_ = 0;
  double expected_ = 0, measured_ = 0, spent_ = 0;
};

}  // namespace penumbra::bench
