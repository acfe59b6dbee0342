// SPDX-License-Identifier: Apache-2.0
//
// The comparisons of all documents, brought together: what belongs to one plot, and each machine's part in it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/document.h"

namespace penumbra::report {

struct Point {
  Place place;
  std::string name;  ///< the contender's own name
  Spread value;
  std::vector<double> samples;
  std::optional<Spread> ratio;
  Role role = Role::ours;
  std::size_t comparison = 0;  ///< which it comes from: samples of one were taken by turns
};

struct Curve {
  std::string name;
  Role role = Role::ours;     ///< of most of its points
  std::vector<Point> points;  ///< in the order of their places, where these are numbers

  /// The point there, or null.
  const Point* at(const Place& place) const;
  /// The same of the nearest() place.
  const Point* near(const Place& place) const;
  /// Whether its points have several roles: then its places are what is compared.
  bool has_several_roles() const;
};

/// What one machine measured of a plot.
struct Panel {
  std::size_t document = 0;
  std::vector<Curve> curves;
};

/// Comparisons with the same measurement (or, where they belong to none, benchmark), title and unit, or a table: one
/// comparison that belongs to no plot. A table's contenders are curves of one point, at an empty place.
struct Plot {
  std::string measurement;  ///< "E6", or empty for what belongs to none
  std::string benchmark, title, unit, x, x_unit, reference;
  std::string heading;  ///< in the page: the title, with the unit where plots of a section have that in common
  std::string id;       ///< in the page
  bool is_table = false;
  bool is_race = true;  ///< whether its curves compete, so that one may be called ahead
  std::vector<Panel> panels;

  Sense sense() const { return sense_of(unit); }
  /// All places that any curve has a point at: numbers in order; otherwise in the order in which they came.
  std::vector<Place> places() const;
  /// Whether the places are words.
  bool is_by_words() const;
};

/// In the order in which documents have them. Where a plot has words among its places, its numbers are words as well.
std::vector<Plot> plots_of(const std::vector<Document>& documents);

/// Which of an entry's measurements something is about, of which it says `title`: the one whose number stands in it, or
/// else the first, or an empty text.
std::string measurement_of(const Entry& entry, const std::string& title);

/// Where a number stands for the same as `wanted`, though both were measured: the nearest of the places that is no more
/// than a tenth from it, or null. Words are never near.
const Place* nearest(const std::vector<Place>& places, double wanted);

/// Fewer samples than these say nothing about how much runs differ.
inline constexpr std::size_t kEnoughSamples = 3;
/// What the spread is then taken to be, to either side and in parts of the median: within that lay 94 of
/// 100 such points of two runs (docs/report.md).
inline constexpr double kAssumedSpread = 0.15;
bool has_enough_samples(const Point& point);
/// Between which values a point is said to lie: from the least sample to the greatest, and of a point without enough of
/// them as far as is assumed at least.
Spread stated_spread(const Point& point);
/// Whether the stated spreads leave no doubt which of the two is more.
bool are_apart(const Point& a, const Point& b);

/// How many times as much `of` is as `to`, round by round where both come from one comparison and have a sample of each
/// round. From two comparisons, or with too few rounds to tell how much they differ, it lies off as far as the stated
/// spreads of the two allow. None of what was divided by 0.
std::optional<Spread> ratio(const Point& of, const Point& to);

}  // namespace penumbra::report
