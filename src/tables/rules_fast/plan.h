// SPDX-License-Identifier: Apache-2.0
//
// Over which bits of the key the groups of rules_fast.shader.h have their hash tables.
#pragma once

#include <cstddef>
#include <span>

#include "penumbra/rule.h"

namespace penumbra::rules_fast {

/// How many rules a leaf holds at most, unless there is no better place for them.
inline constexpr unsigned kLeafRules = 8;

/// How long bits are chosen: `hasty`, a quarter as long, is for rules that change meanwhile.
enum class Care { thorough, hasty };

/// Bits under which as many as possible of these rules have a place in leaves of at most kLeafRules: greedily, of the
/// bits that rules and pairs of rules tell and what remains of those without the lowest bits of addresses. `rules` is
/// not empty.
RuleWords choose_bits(std::span<const RuleMatch* const> rules, RuleFields fields, Care care);

}  // namespace penumbra::rules_fast
