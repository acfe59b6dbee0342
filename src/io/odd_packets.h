// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/random.h"

namespace penumbra::io {

/// Turns a well-formed IPv4 frame of `bytes` >= 60 into one of the odd ones that TrafficMix lists, each as likely as
/// the other. Returns its bytes, at most as many.
std::size_t make_odd_ipv4(Random& random, std::uint8_t* frame, std::size_t bytes);
/// Likewise a well-formed IPv6 frame of `bytes` >= 62.
std::size_t make_odd_ipv6(Random& random, std::uint8_t* frame, std::size_t bytes);

}  // namespace penumbra::io
