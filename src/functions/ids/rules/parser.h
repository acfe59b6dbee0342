// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "functions/ids/rules/address_set.h"
#include "functions/ids/rules/rule.h"
#include "functions/ids/rules/source.h"

namespace penumbra::ids {

/// Reads one rule: "ACTION PROTOCOL SOURCES PORTS DIRECTION DESTINATIONS PORTS (OPTIONS)". Throws RuleError at the word
/// that was not understood.
Rule parse_rule(const RuleSource& source, HeaderSets& sets);

/// Returns the sid of a rule that parse_rule() may refuse, or nothing if it has no readable sid.
std::optional<std::uint32_t> find_sid(const RuleSource& source);

}  // namespace penumbra::ids
