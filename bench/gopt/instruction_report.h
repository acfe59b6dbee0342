// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "bench.h"
#include "gopt/measure.h"

namespace penumbra::bench {

/// Reports the instructions per item and per cycle of the ways with the given rates.
void report_instructions(const std::string& title, const Workload& workload, std::span<const Tuned> ways,
                         std::span<const Series> rates, Report& report);

}  // namespace penumbra::bench
