// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/model.h"

namespace penumbra::control::xfrm {
namespace {

/// Returns true if `seconds` have passed since `start`. A clock that was set back has let no time pass.
bool has_passed(std::uint64_t seconds, std::uint64_t start, std::uint64_t now) {
  return seconds != 0 && now >= start && now - start >= seconds;
}

}  // namespace

bool has_hard_limit(const Limits& limits) {
  return limits.hard_add_seconds != 0 || limits.hard_use_seconds != 0 || limits.hard_bytes != kUnlimited ||
         limits.hard_packets != kUnlimited;
}

Expiry expiry_of(const Limits& limits, const Usage& usage, bool dying, std::uint64_t now) {
  const std::uint64_t first_use = usage.use_time == 0 ? now : usage.use_time;
  if (has_passed(limits.hard_add_seconds, usage.add_time, now) || has_passed(limits.hard_use_seconds, first_use, now) ||
      usage.bytes >= limits.hard_bytes || usage.packets >= limits.hard_packets) {
    return Expiry::hard;
  }
  if (dying) return Expiry::none;
  const bool soft = has_passed(limits.soft_add_seconds, usage.add_time, now) ||
                    has_passed(limits.soft_use_seconds, first_use, now) || usage.bytes >= limits.soft_bytes ||
                    usage.packets >= limits.soft_packets;
  return soft ? Expiry::soft : Expiry::none;
}

}  // namespace penumbra::control::xfrm
