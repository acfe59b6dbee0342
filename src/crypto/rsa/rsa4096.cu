// SPDX-License-Identifier: Apache-2.0
//
// Kernels of RSA-4096. The arguments are the lanes for each prime, the words of each lane, and the bits of the window.
#include "crypto/rsa/kernels.cuh"

namespace penumbra::rsa::gpu {

std::span<const Form> forms_4096() {
  static const Form all[] = {form_of<4, 16, 3>(), form_of<16, 4, 4>()};
  return all;
}

}  // namespace penumbra::rsa::gpu
