// SPDX-License-Identifier: Apache-2.0
//
// An engine and workers that load it (loaded_worker.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench.h"
#include "gpu/lookup_work.h"
#include "loaded_worker.h"
#include "penumbra/engine.h"

namespace penumbra::bench {

/// The engine of a choice with a work's table, and workers, the member-th on the member-th core.
struct LoadedEngine {
  std::string choice;
  std::unique_ptr<Engine> engine;
  std::vector<std::unique_ptr<LoadedWorker>> workers;  ///< end before the engine

  LoadedWorker& only() const { return *workers.front(); }
  /// Million look-ups a second of the first `count` workers together.
  double rate_of(unsigned count) const;
};

/// What it measures before there is traffic is measured, and every answer of its workers has been compared: throws
/// WrongAnswer. Null, and a note, if the engine is not here. The work outlives it.
std::unique_ptr<LoadedEngine> load_engine(const std::string& choice, unsigned workers, gpu::LookupWork& work,
                                          Report& report);

}  // namespace penumbra::bench
