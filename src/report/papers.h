// SPDX-License-Identifier: Apache-2.0
//
// What the papers measured and concluded, as data: bench/papers/*.json, which are built in. docs/report.md has the
// form.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/figures.h"

namespace penumbra::report {

/// Which places of an axis are meant.
struct PlaceChoice {
  enum class Kind { all, first, last, best, number, range, words };
  Kind kind = Kind::all;
  double from = 0, to = 0;  ///< of a range; `from` alone is the number
  std::string pattern;      ///< of words
};

/// Something in our plots and tables, by patterns (pattern.h). Of several curves that match the best one counts.
struct Target {
  std::string measurement;             ///< whose plots: "E6"
  std::string plot, unit;              ///< of the title, of the unit
  std::string of;                      ///< the curve
  bool of_each = false;                ///< every curve that matches for itself, in place of the best
  std::optional<std::string> to;       ///< divided by that curve
  std::optional<std::string> to_plot;  ///< divided by the best of another plot (its title) in the same unit
  std::string needs;                   ///< without such a curve beside it there is nothing
  PlaceChoice at;
  std::optional<PlaceChoice> to_at;  ///< divided by the same curve, or `to`, at another place
};

/// A place that figures point out, in place of the figures themselves.
struct PlaceOf {
  enum class Kind { crossing, greatest, first, last };
  Kind kind = Kind::crossing;
  double at_least = 0;  ///< the first or the last with a ratio of so much
};

/// A number of a paper, or several along an axis.
struct PaperNumber {
  std::string what, where, unit;
  std::string x_unit;  ///< of the points' places
  bool is_approximate = false;
  std::vector<std::pair<std::optional<double>, double>> points;  ///< place, if there are several; value
  std::optional<Target> ours;                                    ///< what it is to be held against
  double scale = 1;                                              ///< ours are so many of the paper's unit
  std::optional<PlaceOf> place_of;                               ///< ours is that place
  bool is_greatest = false;                                      ///< of several figures the greatest, not the first
  std::string why_not;                                           ///< why there is nothing of ours
};

/// How a conclusion is held against results; without one it cannot be.
struct Check {
  enum class Kind { bounds, ahead, peak };
  Kind kind = Kind::bounds;
  Target target;
  std::optional<double> at_least, at_most;         ///< bounds of each ratio or value
  std::optional<double> ahead_up_to, behind_from;  ///< `of` is better than `to` up to there, and not from there on
  double peak_from = 0, peak_to = 0;               ///< the greatest ratio lies between these places
  std::optional<PlaceChoice> than_at;              ///< each ratio divided by the same one at that place, for bounds
};

struct Conclusion {
  std::string says, where;
  bool is_ours = false;  ///< not a sentence of the paper, but ours beside it
  std::optional<Check> check;
  std::string why_not;  ///< why there is no check, or why results may have no figures for it
};

/// A figure or table of a paper, or a part of one.
struct PaperFigure {
  std::string figure;       ///< "figure 8(a)"
  std::string measurement;  ///< whose plots have it, or would
  std::string plot, unit;   ///< patterns of these plots' titles and units
  std::string but;          ///< what of the figure these plots do not have
  std::string why_not;      ///< why there is no plot
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
  std::vector<std::string> no_race;  ///< patterns of the plots whose curves do not compete
  std::vector<Paper> papers;
};

/// Reads one file; throws InputError.
PaperMeasurement parse_papers(std::string_view text, const std::string& file);
/// All that are built in, by number.
std::vector<PaperMeasurement> built_in_papers();

}  // namespace penumbra::report
