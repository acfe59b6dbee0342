// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace penumbra::bench {

/// What the figures were taken on: processor, cores, caches, memory, huge pages, kernel and the load of the last
/// minute. Flat; what the system does not say is left out.
nlohmann::json describe_machine();

}  // namespace penumbra::bench
