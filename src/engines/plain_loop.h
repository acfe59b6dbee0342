// SPDX-License-Identifier: Apache-2.0
//
// Runs a shader as a plain loop on a core. A shader may have a hand-written AVX-512 form where a compiler does not
// vectorize its function well (cmake/Penumbra.cmake: AVX512).
#pragma once

#include <type_traits>

#include "penumbra/batch.h"
#include "penumbra/shader_entry.h"

namespace penumbra {

using PlainLoop = void (*)(const void* view, const Batch& batch);

/// Returns the loop that runs the shader `Function` as it is written.
template <auto Function>
PlainLoop plain_loop() {
  return &ShaderEntry<Function>::call;
}

/// Returns the loop of `Vectors` if this core has AVX-512 (level x86-64-v4) and `has_features`, else the loop of
/// `Function`. `Vectors` takes the same arguments and gives the same answers; if it is null, the loop is that of
/// `Function`.
template <auto Function, auto Vectors>
PlainLoop best_loop(bool has_features) {
  if constexpr (!std::is_null_pointer_v<decltype(Vectors)>) {
    if (has_features && __builtin_cpu_supports("x86-64-v4")) {
      return [](const void* view, const Batch& batch) { ShaderEntry<Function>::call(view, batch, Vectors); };
    }
  }
  return plain_loop<Function>();
}

/// Returns the loop of `Library`, which calls a library and otherwise is like `Vectors`; if it is null, best_loop().
template <auto Function, auto Vectors, auto Library>
PlainLoop library_loop(bool has_features) {
  if constexpr (!std::is_null_pointer_v<decltype(Library)>) {
    return [](const void* view, const Batch& batch) { ShaderEntry<Function>::call(view, batch, Library); };
  } else {
    return best_loop<Function, Vectors>(has_features);
  }
}

}  // namespace penumbra
