// SPDX-License-Identifier: Apache-2.0
//
// RSA by the libcrypto of this machine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "crypto/rsa/rsa.h"

namespace penumbra::bench {

/// A generated key, and the private operation by OpenSSL's own code.
class OpensslRsa {
 public:
  /// Throws std::runtime_error if OpenSSL fails.
  explicit OpensslRsa(unsigned bits);
  ~OpensslRsa();
  OpensslRsa(const OpensslRsa&) = delete;
  OpensslRsa& operator=(const OpensslRsa&) = delete;

  static std::string version();
  /// Expands the key for Penumbra's forms.
  void expand(rsa_key& key) const;
  /// Runs the raw private operation. Throws std::runtime_error if OpenSSL fails.
  void run(std::span<const std::uint8_t> input, std::span<std::uint8_t> output);

 private:
  struct Handles;
  std::unique_ptr<Handles> handles_;
};

}  // namespace penumbra::bench
