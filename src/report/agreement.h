// SPDX-License-Identifier: Apache-2.0
//
// Compares the figures of two runs on one machine.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/context.h"

namespace penumbra::report {

/// A series that both runs have: a curve at a place, or a line of a table.
struct SeriesPair {
  const Plot* plot = nullptr;
  std::string curve;
  const Point *first = nullptr, *second = nullptr;
  double drift = 0;  ///< Drift of both runs. Contenders that a run compares by turns share the drift.

  /// Returns true if both have enough samples for a spread.
  bool has_enough_samples() const;
  /// Returns true if the median of one lies within the other's stated spread.
  bool agrees() const;
  /// Returns the ratio of the greater median to the lesser. Infinity if exactly one is zero, or if the signs differ.
  double times_apart() const;
};

struct Share {
  std::size_t agree = 0, all = 0;
  double value() const { return all == 0 ? 1 : static_cast<double>(agree) / static_cast<double>(all); }
};

struct Agreement {
  std::vector<SeriesPair> pairs;
  std::size_t only_in_first = 0, only_in_second = 0;
  double drift = 0;  ///< drift_of() both runs, at most kMostDrift; 0 if unknown.

  Share of_all() const;
  /// Returns the share of agreeing series among those with enough samples, or among those without.
  Share of_those_with(bool enough_samples) const;
};

/// Runs agree if this share of their series agrees.
inline constexpr double kWantedAgreement = 0.9;

/// Runs on a machine with more drift need not agree, because it was unsuitable for measurements.
inline constexpr double kMostDrift = 0.25;

/// Compares the first two documents. `context` must outlive the result. Numeric places may differ as nearest() allows.
Agreement agreement_of(const Context& context);

/// Returns lines with the shares, and the ten disagreeing series with the greatest difference.
std::string text_of(const Agreement& agreement, const Context& context);

}  // namespace penumbra::report
