// SPDX-License-Identifier: Apache-2.0
//
// The engine `gopt`: the shader as the gopt compiler (docs/gopt.md) rewrites it, run by the worker itself. Its items
// take turns, so that one's cache misses are another's time (G-Opt, NSDI 2015, section 3).
#pragma once

#include <cstdint>

#include "penumbra/batch.h"
#include "penumbra/shader_entry.h"
#include "plain_loop.h"

namespace penumbra::gopt {

/// A shader as the engine `scalar` runs it, and with `width` items taking turns.
struct Forms {
  PlainLoop plain = nullptr;
  void (*in_turns)(const void* view, const Batch& batch, std::uint32_t width) = nullptr;

  /// Width 1 is the plain loop.
  void run(const void* view, const Batch& batch, std::uint32_t width) const {
    if (width <= 1) {
      plain(view, batch);
    } else {
      in_turns(view, batch, width);
    }
  }
};

/// Adds a shader to the engine; for the file that the build writes per shader (variant.cc.in). Returns true.
bool register_variant(Shader shader, Forms forms);

}  // namespace penumbra::gopt
