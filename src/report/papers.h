// SPDX-License-Identifier: Apache-2.0
//
// Defines the papers' measurements and conclusions as data: bench/papers/*.json, which are built in. docs/report.md
// describes the format.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/figures.h"

namespace penumbra::report {

/// Selects places of an axis.
struct PlaceChoice {
  enum class Kind { all, first, last, best, number, range, words };
  Kind kind = Kind::all;
  double from = 0, to = 0;  ///< Bounds of a range; `from` alone is the number.
  std::string pattern;      ///< Pattern of words.
};

/// Selects values in our plots and tables by patterns (pattern.h). Of several matching curves the best one counts.
struct Target {
  std::string measurement;             ///< Measurement of the plots: "E6".
  std::string plot, unit;              ///< Patterns of the title and of the unit.
  std::string of;                      ///< Pattern of the curve.
  bool of_each = false;                ///< True if every matching curve counts, instead of the best one.
  std::optional<std::string> to;       ///< Divide by that curve.
  std::optional<std::string> to_plot;  ///< Divide by the best value of another plot (its title) in the same unit.
  std::string needs;                   ///< Pattern of a curve that the plot must have.
  PlaceChoice at;
  std::optional<PlaceChoice> to_at;  ///< Divide by the same curve, or `to`, at another place.
};

/// Selects a place by figures, instead of the figures themselves.
struct PlaceOf {
  enum class Kind { crossing, greatest, first, last };
  Kind kind = Kind::crossing;
  double at_least = 0;  ///< Minimum ratio, for the first or the last place.
};

/// A number of a paper, or several along an axis.
struct PaperNumber {
  std::string what, where, unit;
  std::string x_unit;  ///< Unit of the points' places.
  bool is_approximate = false;
  std::vector<std::pair<std::optional<double>, double>> points;  ///< Place, if there are several, and value.
  std::optional<Target> ours;                                    ///< Our values to compare with.
  double scale = 1;                                              ///< Factor from our unit to the paper's unit.
  std::optional<PlaceOf> place_of;                               ///< Our value is the selected place.
  /// True if the greatest of several figures counts, instead of the first.
  bool is_greatest = false;
  std::string why_not;  ///< Why we have no value.
};

/// A test of a conclusion against results; a conclusion without it cannot be checked.
struct Check {
  enum class Kind { bounds, ahead, peak };
  Kind kind = Kind::bounds;
  Target target;
  std::optional<double> at_least, at_most;  ///< Bounds of each ratio or value.
  /// `of` is better than `to` up to `ahead_up_to`, and not from `behind_from` on.
  std::optional<double> ahead_up_to, behind_from;
  double peak_from = 0, peak_to = 0;  ///< The greatest ratio lies between these places.
  /// For bounds: each ratio is divided by the same ratio at that place.
  std::optional<PlaceChoice> than_at;
};

struct Conclusion {
  std::string says, where;
  bool is_ours = false;  ///< True for our own sentence about the paper.
  std::optional<Check> check;
  std::string why_not;  ///< Why there is no check, or why results may lack its figures.
};

/// A figure or table of a paper, or a part of one.
struct PaperFigure {
  std::string figure;       ///< For example "figure 8(a)".
  std::string measurement;  ///< The measurement whose plots show it, or would show it.
  std::string plot, unit;   ///< Patterns of the plots' titles and units.
  std::string but;          ///< The content of the figure that the plots lack.
  std::string why_not;      ///< Why there is no plot.
};

struct Paper {
  std::string paper, where, on;
  std::vector<PaperFigure> figures;
  std::vector<PaperNumber> numbers;
  std::vector<Conclusion> conclusions;
};

/// One of E1 to E22.
struct PaperMeasurement {
  std::string measurement, title, about;
  std::vector<std::string> no_race;  ///< Patterns of the plots whose curves do not compete.
  std::vector<Paper> papers;
};

/// Parses one file. Throws InputError.
PaperMeasurement parse_papers(std::string_view text, const std::string& file);
/// Returns all built-in measurements, by number.
std::vector<PaperMeasurement> built_in_papers();

}  // namespace penumbra::report
