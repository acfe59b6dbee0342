// SPDX-License-Identifier: Apache-2.0
//
// Computes sums and tables of the workers' counters.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "io/port.h"
#include "runtime/pipeline.h"
#include "runtime/router.h"
#include "runtime/worker.h"

namespace penumbra::runtime {

using Workers = std::span<const std::unique_ptr<Worker>>;
using Ports = std::span<const std::unique_ptr<io::Port>>;

/// Returns the current sums over all workers, without elapsed time and clock rate. Every packet sent, dropped or punted
/// in it is also counted as received, or as a copy. `host` may be null.
Statistics sum(Workers workers, Ports ports, const Pipeline& pipeline, const HostPath* host);

/// Returns the names of the steps in the order of counters.h: "receive", "ipv4.pre", and so on. The shade step of a
/// stage without a shader is called "".
std::vector<std::string> step_names(const Pipeline& pipeline);

/// Return the tables of `show ports`, `show ports PORT` (by queue), `show workers`, `show functions` and `show drops`.
/// show_drops() includes reasons at 0 only with `with_zeros`. A worker's cycles are per received packet, a function's
/// per packet that it processed. Each table has the `counters` from which its ratios are computed.
nlohmann::ordered_json show_ports(Workers workers, Ports ports, const HostPath* host);
nlohmann::ordered_json show_queues(Workers workers, const io::Port& port);
nlohmann::ordered_json show_workers(Workers workers, Ports ports, const Pipeline& pipeline);
nlohmann::ordered_json show_functions(Workers workers, const Pipeline& pipeline);
nlohmann::ordered_json show_drops(const Statistics& statistics, const Pipeline& pipeline, bool with_zeros);

}  // namespace penumbra::runtime
