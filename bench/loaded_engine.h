// SPDX-License-Identifier: Apache-2.0
//
// An engine and workers that put load on it (loaded_worker.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench.h"
#include "gpu/lookup_work.h"
#include "loaded_worker.h"
#include "penumbra/engine.h"

namespace penumbra::bench {

/// An engine with a work's table and its workers; worker i runs on core i.
struct LoadedEngine {
  std::string choice;
  std::unique_ptr<Engine> engine;
  std::vector<std::unique_ptr<LoadedWorker>> workers;  ///< Must end before the engine.

  LoadedWorker& only() const { return *workers.front(); }
  /// Returns the million look-ups per second of the first `count` workers together.
  double rate_of(unsigned count) const;
};

/// Makes an engine that has calibrated, and whose workers' answers have all been checked. Throws WrongAnswer. Returns
/// null, with a note in the report, if the engine is not available. The work must outlive it.
std::unique_ptr<LoadedEngine> load_engine(const std::string& choice, unsigned workers, gpu::LookupWork& work,
                                          Report& report);

}  // namespace penumbra::bench
