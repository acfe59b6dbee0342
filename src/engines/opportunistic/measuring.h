// SPDX-License-Identifier: Apache-2.0
//
// What batches cost on an engine, measured before there is traffic: on random columns, through the queues of all
// workers at once, each on its worker's core, since workers share an accelerator and the memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "opportunistic/costs.h"
#include "penumbra/engine.h"

namespace penumbra::opportunistic {

/// Nanoseconds of a steady clock.
using Now = std::uint64_t (*)() noexcept;

/// A worker's way into the engine, with nothing in flight.
struct WorkersQueue {
  EngineQueue* queue = nullptr;
  std::optional<unsigned> core;  ///< that the worker will run on, if it is known
};

/// The mean of the workers' costs. `shader` is the engine's, has no arena, and the table was published. Takes some
/// hundredths of a second; an engine that does not answer `is_synchronous` (EngineInfo::is_synchronous) is waited for a
/// while first, since its accelerator may not have the table yet. None where the worker's own core did the work of such
/// an engine: its accelerator is not there, or was lost meanwhile.
std::optional<Costs> measure(const Shader& shader, const Table& table, std::span<const WorkersQueue> queues,
                             bool is_synchronous, Now now);

}  // namespace penumbra::opportunistic
