// SPDX-License-Identifier: Apache-2.0
//
// The argument of the kernels of RSA.
#pragma once

#include <cstdint>

#include "crypto/rsa/rsa.h"

namespace penumbra::rsa::gpu {

/// A batch. Inputs and outputs have the bytes of a modulus each, most significant byte first.
struct Tasks {
  const rsa_key* keys;
  const std::uint32_t* key;  ///< The index of each operation's key.
  rsa_pair* pairs;
  const std::uint32_t* pair;  ///< The index of each operation's pair. No two operations of a batch have the same pair.
  const std::uint8_t* inputs;
  std::uint8_t* outputs;    ///< Zeros unless the status is RSA_DONE.
  std::uint32_t* statuses;  ///< An rsa_status each.
  std::uint32_t count;
  bool makes_pairs;  ///< True to make the pairs, from random inputs that are less than the moduli.
};

}  // namespace penumbra::rsa::gpu
