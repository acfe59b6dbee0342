// SPDX-License-Identifier: Apache-2.0
//
// Adds a Nonce to an Interest without one (NDN Packet Format Specification 0.3, "Nonce"). The Nonce is an element of
// the Interest, so the bytes before it move towards the front.
#pragma once

#include <cstddef>
#include <cstdint>

#include "functions/ndn/packet.h"

namespace penumbra::ndn {

/// An Interest grows by at most this number of bytes: the element and two more bytes for the length.
inline constexpr std::size_t kMostNonceGrowth = 8;

/// Returns the number of bytes that the Interest grows by.
std::size_t nonce_growth(const NdnPacket& interest);

/// Adds a Nonce to an Interest without one, and updates `interest`. The packet must be in writable memory.
/// nonce_growth() bytes before the packet are overwritten.
void add_nonce(NdnPacket& interest, std::uint32_t nonce);

}  // namespace penumbra::ndn
