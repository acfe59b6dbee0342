// SPDX-License-Identifier: Apache-2.0
//
// The oracle of the tests of ciphers: OpenSSL's EVP interface.
#pragma once

#include <cstdint>
#include <vector>

#include "crypto/key_material.h"

namespace penumbra::crypto_testing {

using Bytes = std::vector<std::uint8_t>;

/// A packet as one side sends it.
struct Message {
  Bytes nonce, aad, payload, trailer;
};

/// The same packet as the other side receives it.
struct Sealed {
  Bytes payload, tag;
};

/// Seals as cipher_seal() does. Throws std::runtime_error if OpenSSL refuses.
Sealed openssl_seal(const KeyMaterial& material, const Message& message);

}  // namespace penumbra::crypto_testing
