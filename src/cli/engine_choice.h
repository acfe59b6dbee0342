// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "penumbra/engine.h"

namespace penumbra::cli {

/// Returns the engine of a user's choice for a shader that runs one batch at a time. For "auto", this is the best CPU
/// engine. Throws like resolve_engine().
inline std::unique_ptr<Engine> create_engine_for_one_batch(const std::string& choice, const std::string& shader) {
  return create_engine(engine_name(choice) == kAuto ? engine_at_once(shader) : resolve_engine(choice, shader));
}

}  // namespace penumbra::cli
