// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace penumbra::bench {

class Nvml;

/// Returns the properties of this machine: processor, cores, caches, memory, huge pages, kernel, load average, and the
/// driver and buses of its GPUs. The object is flat; unknown properties are omitted.
nlohmann::json describe_machine(const Nvml& nvml);

}  // namespace penumbra::bench
