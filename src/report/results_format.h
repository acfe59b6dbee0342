// SPDX-License-Identifier: Apache-2.0
//
// What those who write results (bench) and those who read them have in common; docs/bench-results.md has the form.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace penumbra::report {

inline constexpr char kSchema[] = "penumbra-bench/1", kSchemaFamily[] = "penumbra-bench/";

/// What a contender is to us. A limit is what the machine can do at most.
enum class Role { ours, rival, limit };
inline constexpr std::array<const char*, 3> kRoleNames{"ours", "rival", "limit"};
constexpr const char* name_of(Role role) {
  return kRoleNames[static_cast<std::size_t>(role)];
}

/// Why an entry has no findings.
struct Nothing {
  /// The machine lacks something, the benchmark failed, there was no time for it.
  enum class Kind { absent, error, left_out };
  /// The entry's keys in place of findings, by kind.
  static constexpr std::array<const char*, 3> kKeys{"absent", "error", "left_out"};

  Kind kind = Kind::absent;
  std::string what;

  /// Whether it counts as a bar that is not shown.
  static constexpr bool is_bar(Kind kind) { return kind != Kind::error; }
};

/// Order statistics of some samples.
struct Spread {
  double median = 0, least = 0, most = 0;
};
/// Of at least one sample, or else std::invalid_argument. The median of an even number is the mean of the middle two.
inline Spread spread(std::vector<double> samples) {
  if (samples.empty()) throw std::invalid_argument("no samples");
  std::ranges::sort(samples);
  const std::size_t middle = samples.size() / 2;
  const double median = samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
  return {median, samples.front(), samples.back()};
}

/// How many bars stand how.
struct BarCount {
  std::size_t met = 0, missed = 0, not_shown = 0;

  /// Without a value: one that was not shown.
  void add(std::optional<bool> is_met) { ++(!is_met ? not_shown : *is_met ? met : missed); }
  std::size_t all() const { return met + missed + not_shown; }
  /// Whether all are met; nothing if none is missed but one is not shown.
  std::optional<bool> verdict() const {
    if (missed == 0 && not_shown != 0) return std::nullopt;
    return missed == 0;
  }
};

}  // namespace penumbra::report
