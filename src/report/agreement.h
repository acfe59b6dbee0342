// SPDX-License-Identifier: Apache-2.0
//
// Whether two runs on one machine gave the same figures.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/context.h"

namespace penumbra::report {

/// A series that two runs have: a curve at a place, or a line of a table.
struct SeriesPair {
  const Plot* plot = nullptr;
  std::string curve;
  const Point *first = nullptr, *second = nullptr;
  double drift = 0;  ///< of both runs. What is compared within one of them by turns has it in common

  /// Whether both have enough samples for a spread.
  bool has_enough_samples() const;
  /// Whether the median of one lies within the other's stated spread.
  bool agrees() const;
  /// How many times the lesser median the greater one is; infinity if just one is zero, or the signs differ.
  double times_apart() const;
};

struct Share {
  std::size_t agree = 0, all = 0;
  double value() const { return all == 0 ? 1 : static_cast<double>(agree) / static_cast<double>(all); }
};

struct Agreement {
  std::vector<SeriesPair> pairs;
  std::size_t only_in_first = 0, only_in_second = 0;
  double drift = 0;  ///< drift_of() both, kMostDrift at most; 0 if it is not known

  Share of_all() const;
  /// Of the series that have enough samples, or of those that have not.
  Share of_those_with(bool enough_samples) const;
};

/// Runs agree if this part of their series does.
inline constexpr double kWantedAgreement = 0.9;

/// A machine that varied by more was no place to measure: runs on it need not agree.
inline constexpr double kMostDrift = 0.25;

/// Of the first two documents; the context has to outlive it. Places that are numbers may differ as nearest() has it.
Agreement agreement_of(const Context& context);

/// The shares, and the ten series that do not agree and are furthest apart, in lines.
std::string text_of(const Agreement& agreement, const Context& context);

}  // namespace penumbra::report
