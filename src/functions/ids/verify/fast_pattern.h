// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "functions/ids/rules/rule.h"

namespace penumbra::ids {

/// The content of a rule for which a prefilter searches: without it in `buffer`, the rule cannot match.
struct FastPattern {
  Buffer buffer = Buffer::payload;
  std::string bytes;
  bool nocase = false;
};

/// Returns the content that the rule names with fast_pattern, else the one that occurs least by an estimate: long, with
/// many different bytes, in a short buffer. Returns nothing for a rule without a positive content.
std::optional<FastPattern> choose_fast_pattern(const Rule& rule);

}  // namespace penumbra::ids
