// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/random.h"

namespace penumbra::io {

/// Turns a well-formed IPv4 frame of `bytes` >= 60 into one of the odd frames that TrafficMix lists, with equal
/// probability. Returns the new size, at most `bytes`.
std::size_t make_odd_ipv4(Random& random, std::uint8_t* frame, std::size_t bytes);
/// Turns a well-formed IPv6 frame of `bytes` >= 62 into an odd frame, like make_odd_ipv4().
std::size_t make_odd_ipv6(Random& random, std::uint8_t* frame, std::size_t bytes);

}  // namespace penumbra::io
