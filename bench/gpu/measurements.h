// SPDX-License-Identifier: Apache-2.0
//
// Measurements of `penumbra-bench run gpu`, one per file. Every measurement checks answers first, and throws
// WrongAnswer, or std::runtime_error if the GPU fails.
#pragma once

#include "bench.h"
#include "penumbra/engine.h"

namespace penumbra::bench::gpu {

/// Measures copies between host and GPU memory, by size and direction (PacketShader, table 1).
void measure_copies(const Options& options, Report& report);
/// Measures the start of a kernel, by threads (PacketShader, section 2.2).
void measure_launches(const Options& options, Report& report);
/// Measures the exchange of N integers with the GPU by copies, by a graph of them, and by polling (G-Opt, figures 2 and
/// 3).
void measure_exchanges(const Options& options, Report& report);
/// Measures the exchange by polling, by buffers in flight and their size (Intel, figure 2).
void measure_buffers(const Options& options, Report& report);
/// Measures results made visible by group, or item by item (APUNet, section 4.5).
void measure_group_signals(const Options& options, Report& report);
/// Measures random accesses of GPU and CPU, by chains in flight and the table's size (G-Opt, table 1; Intel, figure 3).
void measure_random_accesses(const Options& options, Report& report);
/// Measures from how many accesses or hashes per item the GPU is faster than a number of cores (G-Opt, figure 4).
void measure_offload(const Options& options, Report& report);
/// Measures packet classification by the GPU, by a number of cores, and by the published design (GSwitch, figure 6).
void measure_classification(const Options& options, Report& report);
/// Measures packet classification while one property of the rules varies (GSwitch, figures 5 to 9).
void measure_knobs(const Options& options, Report& report);
/// Measures shaders on data that the GPU has, and random reads of tables of that size.
void measure_shaders(const Options& options, Report& report);
/// Measures throughput against the maximum delay of a batch, by one worker and by several (GSwitch, figures 10 and 11).
void measure_delays(const Options& options, Report& report);
/// Measures flows and stations by their number, on one core with a GPU and without (Intel, figure 5).
void measure_exact_matches(const Options& options, Report& report);
/// Measures look-ups by engine, batch size and threads, and the limit of the bus (PacketShader, figure 2).
void measure_lookups(const Options& options, Report& report);
/// Measures 32 IPv4 look-ups from submit to result, and the cost of a batch with several in flight, by engine (APUNet,
/// figure 7).
void measure_latencies(const Options& options, Report& report);
/// Measures private operations of RSA by size of the batch, compared with OpenSSL's results. Part of `run rsa`.
void measure_rsa(const Options& options, Report& report);

/// Reports if this build and this machine have a GPU, and its name or the reason why not.
Availability find_gpu();

}  // namespace penumbra::bench::gpu
