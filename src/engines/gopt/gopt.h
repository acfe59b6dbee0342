// SPDX-License-Identifier: Apache-2.0
//
// The engine `gopt`: the worker runs the shader as the gopt compiler (docs/gopt.md) rewrites it. Items take turns, so
// that the cache misses of one item overlap the work of others (G-Opt, NSDI 2015, section 3).
#pragma once

#include <cstdint>

#include "penumbra/batch.h"
#include "penumbra/shader_entry.h"
#include "plain_loop.h"

namespace penumbra::gopt {

/// A shader's loop for the engine `scalar`, and its rewritten form, in which `width` items take turns.
struct Forms {
  PlainLoop plain = nullptr;
  /// Null for a shader without hints, which runs at width 1 only.
  void (*in_turns)(const void* view, const Batch& batch, std::uint32_t width) = nullptr;

  /// Runs the batch at `width`; width 1 is the plain loop.
  void run(const void* view, const Batch& batch, std::uint32_t width) const {
    if (width <= 1 || in_turns == nullptr) {
      plain(view, batch);
    } else {
      in_turns(view, batch, width);
    }
  }
};

/// Adds a shader to the engine. Always returns true. Called by the file that the build generates for each shader
/// (variant.cc.in).
bool register_variant(Shader shader, Forms forms);

}  // namespace penumbra::gopt
