// SPDX-License-Identifier: Apache-2.0
//
// Counts the matches of rules for `threshold`, `detection_filter` and `rate_filter`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "functions/ids/rules/rule.h"

namespace penumbra::ids {

/// Whose matches are counted together. Parts that a rule does not track are 0.
struct ThresholdKey {
  std::uint64_t rule = 0;  ///< Gid and sid.
  std::array<std::uint64_t, 2> source{}, destination{};
  std::uint64_t flow = 0;
  bool is_rate = false;  ///< The entry belongs to a rate filter.

  bool operator==(const ThresholdKey&) const = default;
};

/// A threshold's answer to a match.
enum class ThresholdOutcome : std::uint8_t {
  alert,
  silent,   ///< The rule acts, but there is no alert.
  too_few,  ///< Too few matches so far: the rule does nothing.
};

/// A table of fixed size. Each worker has its own. A match that finds no room takes the place of an entry whose time is
/// over, else of the oldest of kProbes entries.
class ThresholdTable {
 public:
  static constexpr std::size_t kProbes = 8;

  /// `entries` is rounded up to a power of two. `seed` makes the places of keys unpredictable.
  explicit ThresholdTable(std::size_t entries, std::uint64_t seed = 0);

  /// Counts a match at `now`, in microseconds.
  ThresholdOutcome count(const Threshold& threshold, const ThresholdKey& key, std::uint64_t now);

  /// Counts a match for a rate filter at `now`, in microseconds. Returns true while the filter is active: from more
  /// than `count` matches in `seconds` on, for `timeout` seconds.
  bool exceeds_rate(const Threshold& rate, std::uint32_t timeout, const ThresholdKey& key, std::uint64_t now);

  /// Returns how many entries were overwritten before their time was over.
  std::uint64_t evicted() const { return evicted_; }

 private:
  struct Entry {
    ThresholdKey key;
    bool is_used = false;
    std::uint64_t begin = 0;  ///< First match of the period.
    std::uint64_t end = 0;    ///< End of the period; the greatest value for `backoff`.
    std::uint64_t matches = 0;
    std::uint64_t next_alert = 0;    ///< Of `backoff`.
    std::uint64_t active_since = 0;  ///< The time at which a rate filter became active, or 0.
  };
  Entry& find(const ThresholdKey& key, std::uint64_t now);
  std::uint64_t hash(const ThresholdKey& key) const;

  std::vector<Entry> entries_;
  std::uint64_t seed_;
  std::uint64_t evicted_ = 0;
};

}  // namespace penumbra::ids
