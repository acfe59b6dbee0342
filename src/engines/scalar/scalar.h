// SPDX-License-Identifier: Apache-2.0
//
// The engine `scalar`: the shader as the compiler of the language sees it, run by the worker itself, or in AVX-512
// registers if somebody has written that. The baseline that the other engines are measured and checked against.
#pragma once

#include "plain_loop.h"

namespace penumbra::scalar {

/// A shader as it stands, and as this core does it best.
struct Loops {
  PlainLoop plain, best;
};

/// Adds a shader to the engine; for the file that the build writes per shader (variant.cc.in). Returns true.
bool register_variant(Shader shader, Loops loops);

}  // namespace penumbra::scalar
