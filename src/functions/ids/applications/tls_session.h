// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "functions/ids/applications/certificate.h"
#include "functions/ids/verify/buffer_table.h"

namespace penumbra::ids {

/// What is seen of a TLS handshake before it is encrypted.
struct TlsSession {
  std::uint16_t client_version = 0, version = 0;  ///< 0x0303 is TLS 1.2; 2 is SSL 2.0. 0: not seen.
  bool has_sni = false, has_certificate = false;
  std::string sni;
  std::string ja3, ja3_hash, ja3s, ja3s_hash;
  Certificate certificate;
  std::string der;          ///< Of the server's first certificate.
  std::uint8_t states = 0;  ///< TlsStateTest::States.
  bool is_over = false;     ///< What follows is encrypted.

  /// Sets the buffers that are known.
  void fill(BufferTable& buffers) const;
  std::string version_name() const;
  /// Returns the bit of TlsVersionTest.
  std::uint8_t version_bit() const;
};

}  // namespace penumbra::ids
