// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace penumbra::bench {

class Nvml;

/// What the figures were taken on: processor, cores, caches, memory, huge pages, kernel, the load of the last minute,
/// and the driver and the buses of the GPUs. Flat; what the system does not say is left out.
nlohmann::json describe_machine(const Nvml& nvml);

}  // namespace penumbra::bench
