// SPDX-License-Identifier: Apache-2.0
//
// The file threshold.config.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "functions/ids/rules/address_set.h"
#include "functions/ids/rules/rule.h"

namespace penumbra::ids {

/// One line of threshold.config.
struct ThresholdEntry {
  enum class Kind : std::uint8_t { suppress, threshold, rate_filter };
  /// Whose address `suppress` compares; `none` suppresses all alerts.
  enum class Who : std::uint8_t { none, source, destination, either };

  Kind kind = Kind::suppress;
  std::uint32_t gid = 0, sid = 0;  ///< 0: all.
  Who who = Who::none;
  std::shared_ptr<const AddressSet> addresses;  ///< Of `suppress`; null if `who` is none.
  Threshold threshold;                          ///< Of `threshold` and `rate_filter`.
  Action new_action = Action::alert;            ///< Of `rate_filter`.
  std::uint32_t timeout = 0;                    ///< Of `rate_filter`, in seconds.
};

/// Reads "suppress ...", "threshold ...", "event_filter ..." and "rate_filter ..." lines. Throws RuleError with the
/// place of a wrong word.
std::vector<ThresholdEntry> read_threshold_file(std::string_view text, const std::string& file, HeaderSets& sets);

}  // namespace penumbra::ids
