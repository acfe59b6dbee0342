// SPDX-License-Identifier: Apache-2.0
//
// The header checks of RFC 1812 written out slowly, byte by byte: nothing here is shared with the router, so that a
// mistake would have to be made twice to go unnoticed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "penumbra/function.h"

namespace penumbra::cli::verify {

using Frame = std::span<const std::uint8_t>;

inline constexpr std::size_t kEthernetBytes = 14;

/// The 16-bit number in network byte order at `offset`.
unsigned read16(Frame bytes, std::size_t offset);
/// Likewise 32 bits.
std::uint32_t read32(Frame bytes, std::size_t offset);

/// The reason why a frame that arrives at `port` is not routed at all; empty if it is.
std::string inspect(const PortInfo& port, Frame frame);

/// The Internet checksum (RFC 1071) of an IPv4 header whose checksum field counts as 0.
unsigned header_checksum(Frame header);

/// A frame of an IPv4 packet without what follows the packet, if the frame is longer than a link of that MTU takes: so
/// it must leave there. The MTU is at least 68.
Frame without_excess(Frame frame, unsigned mtu);

/// The frame as it must leave, from the ethertype on: one hop less to live, the checksum computed anew.
std::vector<std::uint8_t> routed_contents(Frame frame);

}  // namespace penumbra::cli::verify
