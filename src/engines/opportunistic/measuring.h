// SPDX-License-Identifier: Apache-2.0
//
// Measures the costs of batches on an engine before there is traffic. The measurement runs random columns through the
// queues of all workers at once, each on its worker's core, because workers share an accelerator and the memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "opportunistic/costs.h"
#include "penumbra/engine.h"

namespace penumbra::opportunistic {

/// Returns nanoseconds of a steady clock.
using Now = std::uint64_t (*)() noexcept;

/// A worker's queue into the engine, with no batch in flight.
struct WorkersQueue {
  EngineQueue* queue = nullptr;
  std::optional<unsigned> core;  ///< Core on which the worker will run, if known.
};

/// Returns the mean of the workers' costs, or none if the worker's own core did an asynchronous engine's work. Then the
/// accelerator is absent, or failed meanwhile. `shader` belongs to the engine and has no arena; the table must have
/// been published. The measurement takes some hundredths of a second. An engine without EngineInfo::is_synchronous gets
/// some time first, since its accelerator may not have the table yet.
std::optional<Costs> measure(const Shader& shader, const Table& table, std::span<const WorkersQueue> queues,
                             bool is_synchronous, Now now);

}  // namespace penumbra::opportunistic
