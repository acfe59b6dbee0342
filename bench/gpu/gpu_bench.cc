// SPDX-License-Identifier: Apache-2.0
//
// Measures a GPU, the bus to it and the engines on it, compared with the CPU. There is one benchmark for each of the
// papers' measurements.
#include "bench.h"
#include "gpu/measurements.h"

namespace penumbra::bench {
namespace {

using Measure = void (*)(const Options& options, Report& report);

bool add_gpu(Measure measure, const std::vector<std::string>& measurements, const char* measures, Cost cost,
             bool takes_routes = false, bool takes_rules = false) {
  return register_benchmark({.name = "gpu",
                             .measurements = measurements,
                             .measures = measures,
                             .needs = "an NVIDIA GPU",
                             .cost = cost,
                             .takes_routes = takes_routes,
                             .takes_rules = takes_rules,
                             .probe = &gpu::find_gpu,
                             .run = measure});
}

[[maybe_unused]] const bool kGpuBenchmarks[] = {
    add_gpu(&gpu::measure_copies, {"E1"}, "copies between the host's memory and a GPU's, by size", {1, 0.8}),
    add_gpu(&gpu::measure_launches, {"E2"}, "starting a kernel, by threads", {0.3, 0.15}),
    add_gpu(&gpu::measure_exchanges, {"E3"}, "N integers to a GPU and back: copies, a graph of them, polling",
            {0.5, 0.2}),
    add_gpu(&gpu::measure_random_accesses, {"E4"}, "random accesses by chains in flight, GPU and cores, to 8 GiB",
            {3, 0.8}),
    add_gpu(&gpu::measure_offload, {"E5"}, "from how many accesses or hashes an item on a GPU is ahead of cores",
            {6, 2.2}),
    add_gpu(&gpu::measure_lookups, {"E11"}, "look-ups by engine, batch and threads: IPv4, IPv6, flows", {50, 28}, true),
    add_gpu(&gpu::measure_classification, {"E14"}, "packets classified by a GPU, by cores, by the published design",
            {28, 11}, false, true),
    add_gpu(&gpu::measure_knobs, {"E13"},
            "classification by a GPU, by batch, filter, rules, classes and fields (GSwitch, 5-9)", {36, 7.5}),
    add_gpu(&gpu::measure_delays, {"E15"}, "throughput against the maximum delay of a batch, by one worker and several",
            {12, 4.5}, true),
    add_gpu(&gpu::measure_latencies, {"E18"}, "32 look-ups from submit to result: copies, zero copy, resident",
            {12, 7.5}, true),
    add_gpu(&gpu::measure_group_signals, {"E19"}, "results made visible once a group, or item by item", {1, 0.5}),
    add_gpu(&gpu::measure_buffers, {"E21"}, "buffers in flight to a kernel that never stops, by number and size",
            {1, 1.7}),
    add_gpu(&gpu::measure_exact_matches, {"E22"}, "flows and stations by their number, of one core with a GPU",
            {10, 2}),
    add_gpu(&gpu::measure_shaders, {}, "shaders on data that the GPU has, compared with random reads", {7, 0.5}, true)};

}  // namespace
}  // namespace penumbra::bench
