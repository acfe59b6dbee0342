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
#include "penumbra/sample_input.h"

namespace penumbra::opportunistic {

/// Returns nanoseconds of a steady clock.
using Now = std::uint64_t (*)() noexcept;

/// What is measured.
struct Measured {
  const Shader& shader;  ///< Of the engine.
  const Table& table;    ///< Has been published.
  const SampleInput* sample = nullptr;
  std::uint32_t length = 0;  ///< Bytes of each item's payload; not used without payload.
};

/// A worker's queue into the engine, with no batch in flight.
struct WorkersQueue {
  EngineQueue* queue = nullptr;
  std::optional<unsigned> core;  ///< Core on which the worker will run, if known.
};

/// Returns the mean of the workers' costs, or none if the worker's own core did an asynchronous engine's work. Then the
/// accelerator is absent, or failed meanwhile. An accelerator's queues share the payload and keep it, as a GPU that
/// fails may still write there. The measurement takes some hundredths of a second. An engine without
/// EngineInfo::is_synchronous gets some time first, since its accelerator may not have the table yet.
std::optional<Costs> measure(const Measured& measured, std::span<const WorkersQueue> queues, bool is_synchronous,
                             Now now);

}  // namespace penumbra::opportunistic
