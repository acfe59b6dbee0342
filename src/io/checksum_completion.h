// SPDX-License-Identifier: Apache-2.0
//
// TCP and UDP checksums that a Linux host left to its network card. Over a veth pair or a bridge there is no card: the
// packet arrives with the sum of the pseudo header where the checksum belongs (the kernel's CHECKSUM_PARTIAL), and
// whoever sends it on to a real link has to complete it.
#pragma once

#include <cstdint>
#include <span>

namespace penumbra::io {

/// Completes the checksum of an Ethernet frame with up to two VLAN tags that carries TCP or UDP over IPv4, or over IPv6
/// with hop-by-hop and destination options at most (RFC 9293, 768, 8200), if its field holds what CHECKSUM_PARTIAL
/// leaves there and is not right as it stands. Nothing else is touched: not UDP without a checksum, fragments, or
/// packets longer than the frame. Whether it did.
bool complete_checksum(std::span<std::uint8_t> frame) noexcept;

}  // namespace penumbra::io
