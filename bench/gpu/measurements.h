// SPDX-License-Identifier: Apache-2.0
//
// What `penumbra bench gpu` measures, a file each. All check answers first and throw WrongAnswer, or std::runtime_error
// when the GPU refuses.
#pragma once

#include "bench.h"
#include "penumbra/engine.h"

namespace penumbra::bench::gpu {

/// Copies between the host's memory and the GPU's, by size and direction (PacketShader, table 1).
void measure_copies(const Options& options, Report& report);
/// Starting a kernel, by threads (PacketShader, section 2.2).
void measure_launches(const Options& options, Report& report);
/// Handing N integers to the GPU and having them back: copies, a graph of them, polling (G-Opt, figures 2 and 3).
void measure_exchanges(const Options& options, Report& report);
/// The same by polling, by buffers in flight and their size (Intel, figure 2).
void measure_buffers(const Options& options, Report& report);
/// Results made visible once a group, or item by item (APUNet, section 4.5).
void measure_group_signals(const Options& options, Report& report);
/// Random accesses by chains in flight and by the table's size, GPU and CPU (G-Opt, table 1; Intel, figure 3).
void measure_random_accesses(const Options& options, Report& report);
/// From how many accesses or hashes an item on the GPU is ahead of so many cores (G-Opt, figure 4).
void measure_offload(const Options& options, Report& report);
/// Packets classified by the GPU and by so many cores, and by the published design (GSwitch, figure 6).
void measure_classification(const Options& options, Report& report);
/// The same with one knob of the rules turned at a time (GSwitch, figures 5 to 9).
void measure_knobs(const Options& options, Report& report);
/// Shaders on data that the GPU has, beside random reads of tables of that size.
void measure_shaders(const Options& options, Report& report);
/// Throughput against the maximum delay of a batch, by one worker and by several (GSwitch, figures 10 and 11).
void measure_delays(const Options& options, Report& report);
/// Flows and stations by their number, of one core with a GPU and without (Intel, figure 5).
void measure_exact_matches(const Options& options, Report& report);
/// Look-ups by engine, batch size and threads beside what the bus can carry (PacketShader, figure 2).
void measure_lookups(const Options& options, Report& report);
/// 32 IPv4 look-ups from submit to result, and the cost of a batch with several in flight, by engine (APUNet, figure
/// 7).
void measure_latencies(const Options& options, Report& report);

/// Whether this build and this machine can, and what GPU it is, or why not.
Availability find_gpu();

}  // namespace penumbra::bench::gpu
