// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>

#include "penumbra/engine.h"

namespace penumbra::cuda {

/// Creates the engine that runs shaders while a GPU cannot: the best available synchronous engine. There always is one.
inline std::unique_ptr<Engine> create_cpu_engine() {
  const auto is_one = [](const EngineInfo& info) { return info.is_synchronous && info.probe().available; };
  return std::ranges::find_if(engines(), is_one)->create({});
}

}  // namespace penumbra::cuda
