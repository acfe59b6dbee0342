// SPDX-License-Identifier: Apache-2.0
//
// The plain form of the ciphers: cipher.h over several packets, compiled once.
#pragma once

#include <cstdint>
#include <span>

#include "crypto/cipher.h"

namespace penumbra {

/// Seals the packets, each with the key of its number. Sets are_done[i] to the result of cipher_seal(). `are_done` has
/// room for all packets.
void plain_seal(std::span<const cipher_key> keys, std::span<const cipher_packet> packets, std::uint8_t* are_done);

/// Opens the packets, each with the key of its number. Sets are_right[i] to the result of cipher_open(). `are_right`
/// has room for all packets.
void plain_open(std::span<const cipher_key> keys, std::span<const cipher_packet> packets, std::uint8_t* are_right);

}  // namespace penumbra
