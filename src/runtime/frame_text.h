// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace penumbra::runtime {

/// Describes an Ethernet frame in one line, for `trace`. The text has the MAC addresses, the ethertype, and an IPv4
/// packet's addresses, protocol and ports, or the first bytes of another packet. Accepts any bytes. `frame` may be a
/// part of the frame; `length` is the length of the whole.
std::string describe_frame(std::span<const std::uint8_t> frame, std::size_t length);

}  // namespace penumbra::runtime
