// SPDX-License-Identifier: Apache-2.0
//
// Defines words of the results' format, which docs/bench-results.md describes. tools/report reads them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <vector>

namespace penumbra::bench {

inline constexpr char kSchema[] = "penumbra-bench/1";

/// The role of a contender. A limit is the machine's maximum.
enum class Role { ours, rival, limit };
inline constexpr std::array<const char*, 3> kRoleNames{"ours", "rival", "limit"};
constexpr const char* role_name(Role role) {
  return kRoleNames[static_cast<std::size_t>(role)];
}

/// Why an entry has no results.
struct Nothing {
  /// The machine lacks something, the benchmark failed, or there was no time for it.
  enum class Kind { absent, error, left_out };
  /// The entry's keys instead of results, by kind.
  static constexpr std::array<const char*, 3> kKeys{"absent", "error", "left_out"};

  /// Returns true if it counts as a bar that is not shown.
  static constexpr bool is_bar(Kind kind) { return kind != Kind::error; }
};

/// Order statistics of samples.
struct Spread {
  double median = 0, least = 0, most = 0;
};
/// Returns the spread of at least one sample. The median of an even number of samples is the mean of the middle two.
/// Throws std::invalid_argument if there are no samples.
inline Spread spread(std::vector<double> samples) {
  if (samples.empty()) throw std::invalid_argument("no samples");
  std::ranges::sort(samples);
  const std::size_t middle = samples.size() / 2;
  const double median = samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
  return {median, samples.front(), samples.back()};
}

/// Numbers of bars by state.
struct BarCount {
  std::size_t met = 0, missed = 0, not_shown = 0;

  /// Adds a bar; without a value it was not shown.
  void add(std::optional<bool> is_met) { ++(!is_met ? not_shown : *is_met ? met : missed); }
  std::size_t all() const { return met + missed + not_shown; }
  /// Returns true if all bars are met. Returns nothing if no bar is missed but at least one is not shown.
  std::optional<bool> verdict() const {
    if (missed == 0 && not_shown != 0) return std::nullopt;
    return missed == 0;
  }
};

}  // namespace penumbra::bench
