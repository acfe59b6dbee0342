// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "penumbra/engine.h"

namespace penumbra::bench {

/// Runs all batches `times` times, with as many in flight as the queue takes, and returns when all are done.
inline void run_batches(EngineQueue& queue, std::vector<Batch>& batches, std::size_t times) {
  std::size_t in_flight = 0;
  for (std::size_t i = 0; i < times * batches.size();) {
    const auto given = queue.submit(batches[i % batches.size()]);
    if (given != EngineQueue::Submitted::full) ++i;
    if (given == EngineQueue::Submitted::queued) ++in_flight;
    while (in_flight > 0 && (in_flight == batches.size() || given == EngineQueue::Submitted::full)) {
      if (queue.poll() == nullptr) continue;
      --in_flight;
      if (in_flight < batches.size()) break;
    }
  }
  while (in_flight > 0) {
    if (queue.poll() != nullptr) --in_flight;
  }
}

}  // namespace penumbra::bench
