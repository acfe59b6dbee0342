// SPDX-License-Identifier: Apache-2.0
#include "crypto/plain.h"

#include <cstddef>

namespace penumbra {

void plain_seal(std::span<const cipher_key> keys, std::span<const cipher_packet> packets, std::uint8_t* are_done) {
  for (std::size_t i = 0; i < packets.size(); ++i) {
    are_done[i] = static_cast<std::uint8_t>(cipher_seal(&keys[packets[i].key], &packets[i]));
  }
}

void plain_open(std::span<const cipher_key> keys, std::span<const cipher_packet> packets, std::uint8_t* are_right) {
  for (std::size_t i = 0; i < packets.size(); ++i) {
    are_right[i] = static_cast<std::uint8_t>(cipher_open(&keys[packets[i].key], &packets[i]));
  }
}

}  // namespace penumbra
