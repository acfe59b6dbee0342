// SPDX-License-Identifier: Apache-2.0
//
// What a GPU, the bus to it and the engines on it can do, beside the CPU.
#include "bench.h"
#include "gpu/bars.h"
#include "gpu/measurements.h"

namespace penumbra::bench {
namespace {

void run_gpu(const Options& options, Report& report) {
  const Availability found = gpu::find_gpu();
  if (!found.available) return gpu::tell_none_shown(report, found.reason);
  report.input("GPU", found.reason);
  gpu::measure_all(options, report);
}

[[maybe_unused]] const bool kGpuBenchmark =
    register_benchmark({.name = "gpu",
                        .measures = "copies, launches, exchanges and look-ups on a GPU, by engine, beside the CPU",
                        .needs = "an NVIDIA GPU, and 10 GiB of memory",
                        .seconds = 170,
                        .takes_routes = true,
                        .run = &run_gpu});

}  // namespace
}  // namespace penumbra::bench
