// SPDX-License-Identifier: Apache-2.0
//
// Kernels of RSA-2048. The arguments are the lanes for each prime, the words of each lane, and the bits of the window.
#include "crypto/rsa/kernels.cuh"

namespace penumbra::rsa::gpu {

std::span<const Form> forms_2048() {
  static const Form all[] = {form_of<1, 32, 3>(), form_of<4, 8, 4>(), form_of<16, 2, 4>()};
  return all;
}

}  // namespace penumbra::rsa::gpu
