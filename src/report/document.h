// SPDX-License-Identifier: Apache-2.0
//
// What `penumbra bench` wrote (docs/bench-results.md), read and checked.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/figures.h"
#include "report/results_format.h"

namespace penumbra::report {

/// The papers' measurements are E1 to this one.
inline constexpr int kMeasurements = 22;
/// "E6" for 6.
std::string measurement_name(int number);
/// Whether it is one of the papers' measurements; benchmarks have names of their own.
bool is_measurement(const std::string& name);

struct Contender {
  std::string name;
  std::string curve;  ///< what its curve is called
  Role role = Role::ours;
  std::vector<double> samples;
  Spread value;
  std::optional<Spread> ratio;  ///< to the comparison's reference
  std::optional<Place> at;      ///< in place of the comparison's
};

/// Where a comparison belongs in a plot.
struct PlotPlace {
  std::string measurement;  ///< "E6", or empty for what belongs to none of the papers'
  std::string title, x, x_unit;
  std::optional<Place> at;
};

struct Comparison {
  std::string title, unit, reference;
  std::optional<PlotPlace> plot;  ///< without one it is a table
  std::vector<Contender> contenders;
};

/// A bar of the project; without `met` it was not shown, for the reason that stands there.
struct Bar {
  std::string what;
  std::optional<double> value, wanted;
  bool at_least = true;
  std::optional<bool> met;
  std::string not_shown;
};

/// What the machine tells of its power, by whose meters. Documents of before say one number for all.
struct Watts {
  std::optional<double> processors, gpus, of_unknown_meters;
};

struct Entry {
  std::string benchmark;
  std::vector<std::string> measurements;  ///< of the papers'
  std::optional<Nothing> nothing;
  std::optional<double> rounds, seconds;
  Watts watts;                                   ///< mean power while it ran
  std::optional<double> memory_pace, core_pace;  ///< what the machine got done of fixed work before it
  std::vector<std::pair<std::string, std::string>> inputs;
  std::vector<std::string> checked, notes;
  std::vector<Comparison> comparisons;
  std::vector<Bar> bars;
};

/// A measurement of the papers that waits for functions to come.
struct Planned {
  std::string measurement, waits_for;
};

/// Of one machine and one build.
struct Document {
  std::string file;
  std::vector<std::pair<std::string, std::string>> machine;  ///< the processor first
  std::string version, flags, date, seed;
  std::vector<Entry> entries;
  std::vector<Planned> planned;

  /// What the system tells by that name, or an empty text.
  std::string machine_fact(std::string_view name) const;
};

/// How far the machine's pace lay from its mean while all of these were measured, in parts of it: twice the standard
/// deviation, of the memory's or the core's, whichever varied more. 0 if one of them
/// has too few entries with a pace to tell.
double drift_of(const std::vector<const Document*>& documents);

/// Reads a document; `file` stands for it in errors. Throws InputError with the place of whatever is not as it must be.
Document parse_document(std::string_view text, const std::string& file);

}  // namespace penumbra::report
