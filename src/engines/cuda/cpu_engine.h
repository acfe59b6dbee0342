// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>

#include "penumbra/engine.h"

namespace penumbra::cuda {

/// What runs shaders while a GPU does not: the best engine of this build that does so on the worker's own core.
inline std::unique_ptr<Engine> create_cpu_engine() {
  const bool has_gopt = std::ranges::find(engines(), "gopt", &EngineInfo::name) != engines().end();
  return create_engine(has_gopt ? "gopt" : "scalar");
}

}  // namespace penumbra::cuda
