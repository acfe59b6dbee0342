// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "crypto/hmac/hmac.h"

namespace penumbra {

/// Returns the SHA-256 (FIPS 180-4, section 6.2) of less than 4 GiB. Neither allocates nor throws.
inline std::array<std::uint8_t, SHA256_DIGEST> sha256(std::span<const std::uint8_t> bytes) noexcept {
  const std::uint8_t* const data = bytes.data();
  const message whole{{data, data, data}, {static_cast<std::uint32_t>(bytes.size()), 0, 0}, 0, SHA256_BLOCK};
  digest_state state;
  std::array<std::uint8_t, SHA256_DIGEST> digest;
  digest_begin(HMAC_SHA256, &state);
  digest_end(HMAC_SHA256, &state, &whole, digest.data());
  return digest;
}

}  // namespace penumbra
