// SPDX-License-Identifier: Apache-2.0
//
// The words of `threshold` and `detection_filter`, which rules and threshold.config share.
#pragma once

#include <string_view>

#include "functions/ids/rules/rule.h"

namespace penumbra::ids {

/// Collects the words of a threshold: "type limit", "track by_src", "count 1", "seconds 60".
class ThresholdWords {
 public:
  enum class Outcome : std::uint8_t { taken, unknown, wrong, repeated };

  /// Reads one word with its value.
  Outcome take(std::string_view name, std::string_view value);
  bool has_type() const { return has(kType); }
  /// Returns true if all words that the type needs were there.
  bool is_complete() const;
  const Threshold& threshold() const { return threshold_; }

 private:
  enum Word : std::uint8_t { kType = 1, kTrack = 2, kCount = 4, kSeconds = 8, kMultiplier = 16, kUniqueOn = 32 };
  bool has(Word word) const { return (found_ & word) != 0; }
  Outcome take_number(std::uint32_t& number, std::string_view value, Word word);
  Outcome note(Word word);

  Threshold threshold_;
  std::uint8_t found_ = 0;
};

}  // namespace penumbra::ids
