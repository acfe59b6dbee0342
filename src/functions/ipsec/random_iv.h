// SPDX-License-Identifier: Apache-2.0
//
// IVs of CBC, which nobody may predict (RFC 3602, section 3): the key stream of ChaCha20 under a random key.
#pragma once

#include <array>
#include <cstdint>

#include "crypto/chacha20_poly1305/chacha20.h"
#include "crypto/secret_memory.h"

namespace penumbra::ipsec {

/// One thread uses it.
class RandomIv {
 public:
  static constexpr std::size_t kBytes = 16;

  /// Throws std::system_error if the operating system has no random numbers, or locks no memory.
  RandomIv();

  /// Writes an IV.
  void next(std::uint8_t* iv) noexcept;

 private:
  struct State {
    chacha20 stream;
    std::uint8_t key[CHACHA20_KEY];
  };
  static constexpr std::uint64_t kMostOfNonce = std::uint64_t{1} << 24;  ///< IVs; the block counter has 32 bits.

  void begin() noexcept;

  SecretArray<State> state_;
  std::uint64_t taken_ = 0, nonce_ = 0;
};

}  // namespace penumbra::ipsec
