// SPDX-License-Identifier: Apache-2.0
//
// Results of a benchmark, as text while it runs and as JSON with every sample.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "results_format.h"

namespace penumbra::bench {

/// Returns a size in the largest unit that is not above it, rounded down: "8 GiB".
std::string size_name(std::size_t bytes);

/// Samples of one contender, one per round.
struct Series {
  std::string name;
  std::vector<double> samples;
  Role role = Role::ours;
  // NOLINTNEXTLINE(readability-redundant-member-init): initializers may omit the member
  std::string curve = {};  ///< Name of its curve in a plot; empty: `name`.
};

/// A plot of a measurement of the papers, or of a benchmark. Comparisons are its points.
struct Plot {
  std::string measurement;  ///< "E6", or the benchmark's name.
  std::string title;
  std::string x;  ///< Label of the horizontal axis.
  // NOLINTNEXTLINE(readability-redundant-member-init): initializers may omit the member
  std::string x_unit = {};  ///< Empty for a plain number, or words.
};
/// Position on the horizontal axis: a number, or words.
using At = std::variant<double, std::string>;
/// Position of a whole comparison: each contender has a point of its curve there.
struct Place {
  Plot plot;
  At at;
};
/// Positions of a comparison's contenders, which are the points of one curve.
struct Places {
  Plot plot;
  std::string curve;
  std::vector<At> at;
};

/// Returns the ratio of two series by round.
Series ratio(const Series& of, const Series& to);

/// Results of one benchmark, in the order in which they are reported.
class Report {
 public:
  /// With `quiet` nothing is printed. json() is complete either way.
  Report(std::string benchmark, bool quiet);

  /// Reports an input: a table, addresses or frames, with their seed.
  void input(const std::string& what, const std::string& description);
  /// Reports what was compared with the oracle and found equal.
  void checked(const std::string& what);
  /// Reports a remark that a reader needs to judge the figures.
  void note(const std::string& text);
  /// Reports contenders; with `reference`, the name of a contender, also each one's ratio to it. Returns the median
  /// ratios in the order of the contenders (empty without a reference).
  std::vector<double> compare(const std::string& title, const std::string& unit, std::span<const Series> contenders,
                              const std::string& reference, const Place& place);
  std::vector<double> compare(const std::string& title, const std::string& unit, std::span<const Series> contenders,
                              const std::string& reference, const Places& places);
  /// Reports a comparison that is in no plot.
  std::vector<double> compare(const std::string& title, const std::string& unit, std::span<const Series> contenders,
                              const std::string& reference);
  /// Reports a bar of the project and its value. A missed bar does not end the benchmark, but count_bars() counts it.
  void bar(const std::string& what, double value, double wanted, bool at_least);
  /// Reports a bar that this machine cannot show, and why: neither met nor missed.
  void bar_not_shown(const std::string& what, const std::string& why);

  const nlohmann::json& json() const { return json_; }

 private:
  void say(const std::string& line) const;
  std::vector<double> tell(nlohmann::json entry, std::span<const Series> contenders);

  bool quiet_;
  nlohmann::json json_;
};

/// Counts the bars of several benchmarks. `results` is an array of Report::json(), or of entries without results.
BarCount count_bars(const nlohmann::json& results);

}  // namespace penumbra::bench
