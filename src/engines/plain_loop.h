// SPDX-License-Identifier: Apache-2.0
//
// How a core runs a shader without taking turns. A shader whose structure is made for cores may say that better than a
// compiler that sees its function (cmake/Penumbra.cmake: AVX512).
#pragma once

#include <type_traits>

#include "penumbra/batch.h"
#include "penumbra/shader_entry.h"

namespace penumbra {

using PlainLoop = void (*)(const void* view, const Batch& batch);

/// The shader `Function` as it stands.
template <auto Function>
PlainLoop plain_loop() {
  return &ShaderEntry<Function>::call;
}

/// `Vectors`, which takes the same arguments and gives the same answers, if this core has AVX-512 (the level
/// x86-64-v4), else `Function` as it stands; so it is if `Vectors` is null.
template <auto Function, auto Vectors>
PlainLoop best_loop() {
  if constexpr (!std::is_null_pointer_v<decltype(Vectors)>) {
    if (__builtin_cpu_supports("x86-64-v4")) {
      return [](const void* view, const Batch& batch) { ShaderEntry<Function>::call(view, batch, Vectors); };
    }
  }
  return plain_loop<Function>();
}

}  // namespace penumbra
