// SPDX-License-Identifier: Apache-2.0
//
// Completes TCP and UDP checksums that a Linux host left to its network card. A veth pair or a bridge has no card: the
// packet arrives with the pseudo header's sum in the checksum field (the kernel's CHECKSUM_PARTIAL). The sender to a
// real link must complete the checksum.
#pragma once

#include <cstdint>
#include <span>

namespace penumbra::io {

/// Completes the TCP or UDP checksum of an Ethernet frame with up to two VLAN tags (RFC 9293, 768, 8200). IPv6 packets
/// may have no other extension headers than hop-by-hop and destination options. Changes the field only if it holds a
/// CHECKSUM_PARTIAL value that is not the right checksum. Leaves UDP without a checksum, fragments and packets longer
/// than the frame unchanged. Returns true if the checksum was completed.
bool complete_checksum(std::span<std::uint8_t> frame) noexcept;

}  // namespace penumbra::io
