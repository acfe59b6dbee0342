// SPDX-License-Identifier: Apache-2.0
//
// Reads and checks the output of `penumbra-bench` (docs/bench-results.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/figures.h"
#include "report/results_format.h"

namespace penumbra::report {

/// The papers' measurements are E1 to E22.
inline constexpr int kMeasurements = 22;
/// Returns "E6" for 6.
std::string measurement_name(int number);
/// Returns true if the name is one of the papers' measurements; benchmarks have other names.
bool is_measurement(const std::string& name);

struct Contender {
  std::string name;
  std::string curve;  ///< Name of the contender's curve.
  Role role = Role::ours;
  std::vector<double> samples;
  Spread value;
  std::optional<Spread> ratio;  ///< Ratio to the comparison's reference.
  std::optional<Place> at;      ///< Overrides the comparison's place.
};

/// The plot that a comparison belongs to.
struct PlotPlace {
  std::string measurement;  ///< "E6", or empty if the plot belongs to no measurement of the papers.
  std::string title, x, x_unit;
  std::optional<Place> at;
};

struct Comparison {
  std::string title, unit, reference;
  std::optional<PlotPlace> plot;  ///< Without a plot the comparison is a table.
  std::vector<Contender> contenders;
};

/// A bar: a requirement of the project. Without `met` it was not shown, for the reason in `not_shown`.
struct Bar {
  std::string what;
  std::optional<double> value, wanted;
  bool at_least = true;
  std::optional<bool> met;
  std::string not_shown;
};

/// Power by the machine's meters. Older documents have one number for all meters.
struct Watts {
  std::optional<double> processors, gpus, of_unknown_meters;
};

struct Entry {
  std::string benchmark;
  std::vector<std::string> measurements;  ///< The papers' measurements.
  std::optional<Nothing> nothing;
  std::optional<double> rounds, seconds;
  Watts watts;                                   ///< Mean power during the benchmark.
  std::optional<double> memory_pace, core_pace;  ///< Speed of the machine in a fixed workload before the benchmark.
  std::vector<std::pair<std::string, std::string>> inputs;
  std::vector<std::string> checked, notes;
  std::vector<Comparison> comparisons;
  std::vector<Bar> bars;
};

/// A measurement of the papers that waits for missing functions.
struct Planned {
  std::string measurement, waits_for;
};

/// The results of one machine and one build.
struct Document {
  std::string file;
  std::vector<std::pair<std::string, std::string>> machine;  ///< The processor comes first.
  std::string version, flags, date, seed;
  std::vector<Entry> entries;
  std::vector<Planned> planned;

  /// Returns the system's value of that name, or an empty text.
  std::string machine_fact(std::string_view name) const;
};

/// Returns the drift of the machine's pace during all documents: twice the relative standard deviation. Takes the pace
/// of the memory or the core, whichever varied more. Returns 0 if a document has too few entries with a pace.
double drift_of(const std::vector<const Document*>& documents);

/// Parses a document; errors name it `file`. Throws InputError with the place of invalid content.
Document parse_document(std::string_view text, const std::string& file);

}  // namespace penumbra::report
