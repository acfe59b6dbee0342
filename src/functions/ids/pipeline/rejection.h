// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "penumbra/packet.h"

namespace penumbra::ids {

inline constexpr std::size_t kMostRejectionBytes = 256;

enum class RejectionTo : std::uint8_t { source, destination };

/// Writes the frame that tells one end of a packet that it was refused: a RST for TCP, else an ICMP error, which only
/// the source receives. The frame seems to come from the other end. Returns its length, or 0 if none is due: RFC 1122
/// (3.2.2) and RFC 4443 (2.4) name packets that no ICMP error follows, and no RST follows a RST. Precondition:
/// `headers` describes `frame` and is readable.
std::size_t write_rejection(std::span<const std::uint8_t> frame, const PacketHeaders& headers, RejectionTo to,
                            std::span<std::uint8_t, kMostRejectionBytes> out);

}  // namespace penumbra::ids
