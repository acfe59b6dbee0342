// SPDX-License-Identifier: Apache-2.0
//
// Groups the comparisons of all documents into plots, with a panel for each machine.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/document.h"

namespace penumbra::report {

struct Point {
  Place place;
  std::string name;  ///< The contender's own name.
  Spread value;
  std::vector<double> samples;
  std::optional<Spread> ratio;
  Role role = Role::ours;
  std::size_t comparison = 0;  ///< Number of the comparison. Samples of one comparison were taken by turns.
};

struct Curve {
  std::string name;
  Role role = Role::ours;     ///< The role of most of its points.
  std::vector<Point> points;  ///< In the order of their places if they are numbers.

  /// Returns the point at the place, or null.
  const Point* at(const Place& place) const;
  /// Returns the point at the nearest() place, or null.
  const Point* near(const Place& place) const;
  /// Returns true if its points have several roles: then its places are compared.
  bool has_several_roles() const;
};

/// One machine's results of a plot.
struct Panel {
  std::size_t document = 0;
  std::vector<Curve> curves;
};

/// Comparisons with the same measurement (or benchmark, if they have none), title and unit. A table is one comparison
/// that belongs to no plot; its contenders are curves of one point at an empty place.
struct Plot {
  std::string measurement;  ///< "E6", or empty without a measurement.
  std::string benchmark, title, unit, x, x_unit, reference;
  std::string heading;  ///< Heading in the page: the title, with the unit if plots of a section share the title.
  std::string id;       ///< Id in the page.
  bool is_table = false;
  bool is_race = true;  ///< True if its curves compete, so that one may lead.
  std::vector<Panel> panels;

  Sense sense() const { return sense_of(unit); }
  /// Returns all places of any curve's points: numbers in order, words in order of appearance.
  std::vector<Place> places() const;
  /// Returns true if the places are words.
  bool is_by_words() const;
};

/// Returns the plots in the order of the documents. If any place of a plot is a word, its numbers become words too.
std::vector<Plot> plots_of(const std::vector<Document>& documents);

/// Returns the measurement of an entry that `title` is about: the one whose number occurs in the title, else the first,
/// else an empty text.
std::string measurement_of(const Entry& entry, const std::string& title);

/// Returns the nearest of the places within a tenth of `wanted`, or null. Words are never near.
const Place* nearest(const std::vector<Place>& places, double wanted);

/// Fewer samples do not show how much runs differ.
inline constexpr std::size_t kEnoughSamples = 3;
/// The spread assumed for fewer samples, to either side and as a share of the median. The assumption covered 94 of 100
/// such points of two runs (docs/report.md).
inline constexpr double kAssumedSpread = 0.15;
bool has_enough_samples(const Point& point);
/// Returns the range of a point: from the least to the greatest sample. With too few samples it is at least the assumed
/// spread.
Spread stated_spread(const Point& point);
/// Returns true if the stated spreads do not overlap.
bool are_apart(const Point& a, const Point& b);

/// Returns the ratio of `of` to `to`. The ratio is taken per round if both come from one comparison with a sample of
/// each round. Otherwise, or with too few rounds, its range is as wide as both stated spreads allow. Returns nothing
/// for a division by 0.
std::optional<Spread> ratio(const Point& of, const Point& to);

}  // namespace penumbra::report
