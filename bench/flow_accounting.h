// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "bench.h"

namespace penumbra::bench {

/// The function flows as a whole, without ports: how fast it opens so many flows by their first packets, and how fast
/// it then counts packets of them, engine by engine.
void compare_accounting(std::size_t flows, const Options& options, Report& report);

}  // namespace penumbra::bench
