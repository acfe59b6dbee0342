// SPDX-License-Identifier: Apache-2.0
//
// What a benchmark found, as text while it runs and as JSON with every sample.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace penumbra::bench {

/// "8 GiB": in the largest unit of which there is one, rounded down.
std::string size_name(std::size_t bytes);

/// Order statistics of some samples.
struct Spread {
  double median = 0, least = 0, most = 0;
};
/// Of at least one sample. The median of an even number is the mean of the middle two.
Spread spread(std::vector<double> samples);

/// The samples of one contender, one a round.
struct Series {
  std::string name;
  std::vector<double> samples;
};

/// The ratio of two series round by round.
Series ratio(const Series& of, const Series& to);

/// One benchmark's findings, in the order in which they are told.
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
                              const std::string& reference);
  /// A bar of the project and where it stands. A missed one does not end the benchmark, but tells in count_bars().
  void bar(const std::string& what, double value, double wanted, bool at_least);
  /// A bar that this machine cannot show, and why: neither met nor missed.
  void bar_not_shown(const std::string& what, const std::string& why);

  const nlohmann::json& json() const { return json_; }

 private:
  void say(const std::string& line) const;

  bool quiet_;
  nlohmann::json json_;
};

/// How many bars stand how, in the findings of several benchmarks (an array of Report::json(), or of errors).
struct BarCount {
  unsigned met = 0, missed = 0, not_shown = 0;
};
BarCount count_bars(const nlohmann::json& results);

}  // namespace penumbra::bench
