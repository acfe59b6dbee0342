// SPDX-License-Identifier: Apache-2.0
//
// Converts matches between sparse keys and RuleFields::openflow, the 12 fields of OpenFlow 1.0.
#pragma once

#include <optional>

#include "penumbra/rule.h"

namespace penumbra::control::rules {

inline constexpr std::uint64_t kWholeTci = 0xFFFF, kVlanBits = 0x0FFF;
inline constexpr unsigned kTciPriorityShift = 13;

/// Returns the normalised match of the same packets, or nothing if the match has other fields, or fields of IPv6.
std::optional<RuleMatch> openflow10(const SparseMatch& match);
/// Returns the sparse match of the same packets. Throws std::invalid_argument for ranges of ports, bits of no field,
/// and a part of a tag that may be missing.
SparseMatch from_openflow10(const RuleMatch& match);

}  // namespace penumbra::control::rules
