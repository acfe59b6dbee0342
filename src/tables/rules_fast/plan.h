// SPDX-License-Identifier: Apache-2.0
//
// Chooses the key bits of the hash tables of the groups in rules_fast.shader.h.
#pragma once

#include <cstddef>
#include <span>

#include "penumbra/rule.h"

namespace penumbra::rules_fast {

/// Maximum number of rules in a leaf, unless a rule has no better place.
inline constexpr unsigned kLeafRules = 8;

/// Effort of the choice. `hasty` takes a quarter of the time, for rules that change during the choice.
enum class Care { thorough, hasty };

/// Returns bits under which as many rules as possible fit into leaves of at most kLeafRules. The candidates are masks
/// of rules and of pairs of rules, with and without the lowest bits of addresses. The choice is greedy. `rules` must
/// not be empty.
RuleWords choose_bits(std::span<const RuleMatch* const> rules, RuleFields fields, Care care);

}  // namespace penumbra::rules_fast
