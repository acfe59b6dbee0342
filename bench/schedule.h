// SPDX-License-Identifier: Apache-2.0
//
// Decides how many of the requested benchmarks fit into the time budget.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bench.h"

namespace penumbra::bench {

/// Benchmarks that remain, in order, and this machine's speed compared with the expected costs.
class Schedule {
 public:
  /// With a budget, `rounds` is the maximum.
  Schedule(std::vector<Cost> costs, unsigned rounds, std::optional<double> budget);

  /// Returns the rounds of the next benchmark: the number that fits if all remaining ones that fit get as many. The
  /// result is three if that costs little more and leaves one round for each of the others. Returns 0 if the benchmark
  /// is skipped, because the budget has no room for one round of it. Room goes first to the papers' measurements, and
  /// among equals to the cheapest.
  unsigned rounds_of_next() const;
  /// Records that the next benchmark took `seconds` for `rounds` rounds; 0 rounds: it was not measured.
  void took(unsigned rounds, double seconds);

  /// Return the number of benchmarks in all, and of those that are done.
  std::size_t size() const { return costs_.size(); }
  std::size_t done() const { return next_; }
  /// Returns the seconds for all remaining benchmarks including the next one, `into_next` seconds of which have passed.
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
