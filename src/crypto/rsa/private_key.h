// SPDX-License-Identifier: Apache-2.0
//
// Private keys of RSA in DER, and references to keys, which have the form of a private key and no secret. Keys are read
// here because OpenSSL's decoders copy them to memory that is neither locked nor erased (decode_pem2der.c of 3.0).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "crypto/rsa/key.h"

namespace penumbra::rsa {

/// A private key of PKCS #1 (RFC 8017, appendix A.1.2). The numbers point into the encoding.
struct PrivateKey {
  KeyParts parts;
  std::span<const std::uint8_t> private_exponent;
};

/// Reads a key from the DER of RSAPrivateKey, or of PrivateKeyInfo (RFC 5208) if `is_pkcs8` is set. Throws
/// std::invalid_argument, without any secret in its text, if the DER is not a key of RSA with two primes.
PrivateKey read_private_key(std::span<const std::uint8_t> der, bool is_pkcs8);

/// The bytes of a reference's private exponent. No private key has it, because a private exponent is odd.
inline constexpr std::string_view kReferenceMark = "Penumbra RSA key referenced by n";

/// Returns whether the private exponent marks a reference. Leading zeros are permitted.
bool is_reference(std::span<const std::uint8_t> private_exponent);

/// Returns a reference to a key, as PEM of PKCS #8. The modulus and the public exponent are those of the key. Both
/// primes are 2, so that code that takes the reference for a key finds no inverse, and fails.
std::string write_reference(const KeyParts& parts);

}  // namespace penumbra::rsa
