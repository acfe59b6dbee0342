// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace penumbra::runtime {

/// One line on an Ethernet frame, for `trace`: MAC addresses, ethertype, and an IPv4 packet's addresses, protocol and
/// ports, or else its first bytes. Any bytes will do. `length` is the frame's, of which `frame` may be a part.
std::string describe_frame(std::span<const std::uint8_t> frame, std::size_t length);

}  // namespace penumbra::runtime
