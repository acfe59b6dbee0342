// SPDX-License-Identifier: Apache-2.0
//
// The kernels of RSA by size of keys and number of lanes for each prime.
#pragma once

#include <cstdint>
#include <span>

namespace penumbra::rsa::gpu {

struct Form {
  unsigned bits;          ///< The size of the modulus.
  unsigned lanes;         ///< For each prime.
  unsigned half_bytes;    ///< Shared memory for each prime.
  unsigned most_threads;  ///< The limit of a block.
  const void* kernel;     ///< Its argument is a Tasks.
};

/// Returns the forms of a size, by number of lanes.
std::span<const Form> forms_2048();
std::span<const Form> forms_3072();
std::span<const Form> forms_4096();

}  // namespace penumbra::rsa::gpu
