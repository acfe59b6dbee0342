// SPDX-License-Identifier: Apache-2.0
//
// Keys as the control plane knows them, and their expansion.
#pragma once

#include <cstdint>
#include <span>

#include "crypto/cipher.h"

namespace penumbra {

/// A secret key before its expansion. The spans must outlive the calls that use it.
struct KeyMaterial {
  cipher_algorithm cipher = CIPHER_NONE;
  std::uint32_t digest = 0;  ///< hmac_digest, or 0.
  // NOLINTBEGIN(readability-redundant-member-init): initializers may omit the members
  /// AES: 16 or 32 bytes; ChaCha20: 32 bytes; CIPHER_NONE: none.
  std::span<const std::uint8_t> secret = {};
  std::span<const std::uint8_t> digest_secret = {};  ///< Any bytes, with a digest.
  std::span<const std::uint8_t> salt = {};           ///< None or 4 bytes, for cipher_esp_nonce().
  // NOLINTEND(readability-redundant-member-init)
  std::uint32_t tag_bytes = 0;  ///< Bytes of the tag that packets carry.
};

/// Throws std::invalid_argument, without any secret in its text, if the lengths do not fit the algorithms. A tag must
/// have at least 4 bytes (NIST SP 800-38D, section 5.2.1.2), or none if nothing is authenticated.
void check(const KeyMaterial& material);

/// Expands `material` into `key`, which may have any content before and keeps it if this throws. Throws
/// std::invalid_argument as check() does.
void expand(const KeyMaterial& material, cipher_key& key);

}  // namespace penumbra
