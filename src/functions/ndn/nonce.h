// SPDX-License-Identifier: Apache-2.0
//
// The Nonce that a forwarder gives an Interest without one (NDN Packet Format Specification 0.3, "Nonce"). It belongs
// to the Interest itself, so the bytes before it move toward the front.
#pragma once

#include <cstddef>
#include <cstdint>

#include "functions/ndn/packet.h"

namespace penumbra::ndn {

/// The most bytes that an Interest grows by: the element, and a length that takes two bytes more.
inline constexpr std::size_t kMostNonceGrowth = 8;

/// By how many bytes it grows.
std::size_t nonce_growth(const NdnPacket& interest);

/// Adds a Nonce to an Interest that has none. Its packet is in writable memory, with nonce_growth() bytes before it
/// that are overwritten; `interest` is what it is then.
void add_nonce(NdnPacket& interest, std::uint32_t nonce);

}  // namespace penumbra::ndn
