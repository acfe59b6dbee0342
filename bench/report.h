// SPDX-License-Identifier: Apache-2.0
//
// What a benchmark found, as text while it runs and as JSON with every sample.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "report/results_format.h"

namespace penumbra::bench {

/// "8 GiB": in the largest unit of which there is one, rounded down.
std::string size_name(std::size_t bytes);

using report::BarCount;
using report::Role;
using report::Spread;
using report::spread;

/// The samples of one contender, one a round.
struct Series {
  std::string name;
  std::vector<double> samples;
  Role role = Role::ours;
  // NOLINTNEXTLINE(readability-redundant-member-init): for who leaves it out of an initializer
  std::string curve = {};  ///< what its curve in a plot is called; empty: as its name
};

/// A plot of one of the papers' measurements, or of a benchmark's own; comparisons are its points.
struct Plot {
  std::string measurement;  ///< "E6", or the benchmark's name
  std::string title;
  std::string x;  ///< what is along the horizontal axis
  // NOLINTNEXTLINE(readability-redundant-member-init): for who leaves it out of an initializer
  std::string x_unit = {};  ///< empty: a plain number, or words
};
/// Where along the axis: a number, or words.
using At = std::variant<double, std::string>;
/// The place of a whole comparison: each contender has a point of its curve there.
struct Place {
  Plot plot;
  At at;
};
/// The places of a comparison's contenders one by one: they are the points of one curve.
struct Places {
  Plot plot;
  std::string curve;
  std::vector<At> at;
};

/// The ratio of two series round by round.
Series ratio(const Series& of, const Series& to);

/// One benchmark's calibrations, in the order in which they are told.
class Report {
 public:
  /// With `quiet` nothing is printed; json() has it all either way.
  Report(std::string benchmark, bool quiet);

  /// What went in: a table, addresses, frames, with seed.
  void input(const std::string& what, const std::string& description);
  /// What was compared with the oracle and found equal.
  void checked(const std::string& what);
  /// A remark that a reader needs to judge the figures.
  void note(const std::string& text);
  /// Contenders side by side; with `reference` a name among them, each one's ratio to it. Returns the median ratios in
  /// the order of the contenders (empty without a reference).
  std::vector<double> compare(const std::string& title, const std::string& unit, std::span<const Series> contenders,
                              const std::string& reference, const Place& place);
  std::vector<double> compare(const std::string& title, const std::string& unit, std::span<const Series> contenders,
                              const std::string& reference, const Places& places);
  /// One that stands in no plot.
  std::vector<double> compare(const std::string& title, const std::string& unit, std::span<const Series> contenders,
                              const std::string& reference);
  /// A bar of the project and where it stands. A missed one does not end the benchmark, but tells in count_bars().
  void bar(const std::string& what, double value, double wanted, bool at_least);
  /// A bar that this machine cannot show, and why: neither met nor missed.
  void bar_not_shown(const std::string& what, const std::string& why);

  const nlohmann::json& json() const { return json_; }

 private:
  void say(const std::string& line) const;
  std::vector<double> tell(nlohmann::json entry, std::span<const Series> contenders);

  bool quiet_;
  nlohmann::json json_;
};

/// Of the calibrations of several benchmarks: an array of Report::json(), or of entries without calibrations.
BarCount count_bars(const nlohmann::json& results);

}  // namespace penumbra::bench
