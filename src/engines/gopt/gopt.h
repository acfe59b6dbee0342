// SPDX-License-Identifier: Apache-2.0
//
// The engine `gopt`: the shader as the gopt compiler (docs/gopt.md) rewrites it, run by the worker itself. Its items
// take turns, so that one's cache misses are another's time (G-Opt, NSDI 2015, section 3).
#pragma once

#include <cstdint>

#include "penumbra/batch.h"
#include "penumbra/shader_entry.h"

namespace penumbra::gopt {

/// Runs the shader with `width` items taking turns; 1: as a plain loop.
using Call = void (*)(const void* view, const Batch& batch, std::uint32_t width);

/// Adds a shader to the engine; for the file that the build writes per shader (variant.cc.in). Returns true.
bool register_variant(Shader shader, Call call);

}  // namespace penumbra::gopt
