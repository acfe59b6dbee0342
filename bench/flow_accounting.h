// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "bench.h"

namespace penumbra::bench {

/// Measures the whole function `flows`, without ports, on every engine. The figures are how fast the function opens
/// `flows` flows by their first packets, and how fast it then counts their packets.
void compare_accounting(std::size_t flows, const Options& options, Report& report);

}  // namespace penumbra::bench
