// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "penumbra/rule.h"

namespace penumbra::control::rules {

/// Rules as a file has them.
struct RuleList {
  RuleFields fields = RuleFields::ipv4;
  std::vector<Rule> rules;           ///< normalised, in the file's order
  std::vector<std::uint32_t> lines;  ///< of each rule, from 1
};

}  // namespace penumbra::control::rules
