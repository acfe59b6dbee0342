// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "penumbra/rule.h"

namespace penumbra::control::rules {

/// Holds the rules of a file.
struct RuleList {
  RuleFields fields = RuleFields::ipv4;
  std::vector<Rule> rules;           ///< Normalised, in the file's order.
  std::vector<std::uint32_t> lines;  ///< Line of each rule, from 1.
};

}  // namespace penumbra::control::rules
