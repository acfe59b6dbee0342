// SPDX-License-Identifier: Apache-2.0
//
// Kernels of RSA-3072. The arguments are the lanes for each prime, the words of each lane, and the bits of the window.
#include "crypto/rsa/kernels.cuh"

namespace penumbra::rsa::gpu {

std::span<const Form> forms_3072() {
  static const Form all[] = {form_of<4, 12, 3>(), form_of<8, 6, 4>()};
  return all;
}

}  // namespace penumbra::rsa::gpu
