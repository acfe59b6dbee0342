// SPDX-License-Identifier: Apache-2.0
//
// Encodings of a digest for a signature (RFC 8017, section 9).
#pragma once

#include <openssl/types.h>

#include <cstdint>
#include <span>

namespace penumbra::tls {

/// Encodes by EMSA-PKCS1-v1_5 (section 9.2) into all of `encoded`. `digest` is null if `value` is to be padded as it
/// is. Returns false for a digest without a known identifier, or if there is no room.
bool encode_pkcs1(std::span<std::uint8_t> encoded, const EVP_MD* digest, std::span<const std::uint8_t> value);

/// Encodes by EMSA-PSS (section 9.1.1) with a random salt, for a modulus of 8 * encoded.size() bits. `salt_bytes` may
/// be one of OpenSSL's negative numbers. Returns false if there is no room, or if OpenSSL fails.
bool encode_pss(OSSL_LIB_CTX* library, std::span<std::uint8_t> encoded, const EVP_MD* digest, const EVP_MD* mask_digest,
                int salt_bytes, std::span<const std::uint8_t> value);

}  // namespace penumbra::tls
