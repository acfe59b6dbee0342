// SPDX-License-Identifier: Apache-2.0
//
// The engine `scalar`: the shader as the compiler of the language sees it, run by the worker itself. The baseline that
// the other engines are measured and checked against.
#pragma once

#include "penumbra/batch.h"
#include "penumbra/shader_entry.h"

namespace penumbra::scalar {

using Call = void (*)(const void* view, const Batch& batch);

/// Adds a shader to the engine; for the file that the build writes per shader (variant.cc.in). Returns true.
bool register_variant(Shader shader, Call call);

}  // namespace penumbra::scalar
