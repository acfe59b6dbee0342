// SPDX-License-Identifier: Apache-2.0
//
// Keys as libipsec-mb expands them.
#pragma once

// The old names of the library would collide with others.
#ifndef NO_COMPAT_IMB_API_053
#define NO_COMPAT_IMB_API_053
#endif
#include <intel-ipsec-mb.h>

#include <cstdint>

#include "crypto/key_material.h"

namespace penumbra::ipsec_mb {

inline constexpr std::size_t kExpandedBytes = 240;  // of an AES key, one direction
inline constexpr std::size_t kStateBytes = 64;      // of the longest digest state

/// Round keys of AES in both directions, and the digest states after the first blocks of HMAC.
struct ComposedKey {
  std::uint8_t encrypt[kExpandedBytes], decrypt[kExpandedBytes];
  std::uint8_t inner[kStateBytes], outer[kStateBytes];
};

/// An expanded key, an element of a secret table. All zeros are a key that copies and authenticates nothing.
struct alignas(64) Key {
  union {
    gcm_key_data gcm;  // GCM and GMAC
    ComposedKey composed;
    std::uint8_t chacha20[CHACHA20_KEY];
  };
  std::uint8_t cipher;         ///< cipher_algorithm
  std::uint8_t digest;         ///< hmac_digest, or 0
  std::uint8_t tag_bytes;      ///< Bytes of the tag that packets carry.
  std::uint8_t secret_bytes;   ///< Bytes of the cipher's secret.
  std::uint8_t job_cipher;     ///< IMB_CIPHER_MODE of jobs
  std::uint8_t job_hash;       ///< IMB_HASH_ALG of jobs
  std::uint8_t job_tag_bytes;  ///< Bytes of the tag that a job makes: `tag_bytes` if the library can, or all.
  std::uint8_t salt[CIPHER_SALT];
};
static_assert(sizeof(Key) == 1024);

/// Expands `material` into `key`, which may have any content before and keeps it if this throws. `manager` is an
/// initialised manager. Throws std::invalid_argument as check() does.
void expand(IMB_MGR& manager, const KeyMaterial& material, Key& key);

}  // namespace penumbra::ipsec_mb
