// SPDX-License-Identifier: Apache-2.0
//
// The engine `scalar`: the worker runs the shader as the language's compiler builds it, or in its hand-written AVX-512
// form if there is one. The engine is the baseline against which the other engines are measured and checked.
#pragma once

#include "plain_loop.h"

namespace penumbra::scalar {

/// A shader's plain loop, and its best loop for this core.
struct Loops {
  PlainLoop plain, best, library;
};

/// Adds a shader to the engine. Always returns true. Called by the file that the build generates for each shader
/// (variant.cc.in).
bool register_variant(Shader shader, Loops loops);

}  // namespace penumbra::scalar
