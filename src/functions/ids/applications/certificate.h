// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace penumbra::ids {

/// What is logged of an X.509 certificate (RFC 5280).
struct Certificate {
  std::string subject, issuer;        ///< "C=US, O=Example, CN=www.example.org"
  std::string serial;                 ///< "0A:1B:2C"
  std::string fingerprint;            ///< SHA-1, "0a:1b:2c"
  std::string not_before, not_after;  ///< "2024-01-31T23:59:59"
};

/// Reads a certificate in DER. Returns false if it is malformed; `certificate` has what precedes the fault.
bool read_certificate(std::span<const std::uint8_t> der, Certificate& certificate);

}  // namespace penumbra::ids
