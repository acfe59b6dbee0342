// SPDX-License-Identifier: Apache-2.0
//
// Sums and tables of what the workers count.
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

/// This moment's sum over all workers, elapsed time and clock rate left 0. What is sent, dropped or punted in it was
/// received in it, or is a copy that was made before. `host` may be null.
Statistics sum(Workers workers, Ports ports, const Pipeline& pipeline, const HostPath* host);

/// The names of the steps (counters.h), in their order: "receive", "ipv4.pre", ...; of a stage without a shader the
/// shade step is called "".
std::vector<std::string> step_names(const Pipeline& pipeline);

/// What `show ports`, `show ports PORT` (by queue), `show workers`, `show functions` and `show drops` print; of drops
/// those at 0 only if wanted. Of a worker cycles are per packet that it received, of a function per packet that it was
/// given. `counters` are what the ratios beside them are made of.
nlohmann::ordered_json show_ports(Workers workers, Ports ports, const HostPath* host);
nlohmann::ordered_json show_queues(Workers workers, const io::Port& port);
nlohmann::ordered_json show_workers(Workers workers, Ports ports, const Pipeline& pipeline);
nlohmann::ordered_json show_functions(Workers workers, const Pipeline& pipeline);
nlohmann::ordered_json show_drops(const Statistics& statistics, const Pipeline& pipeline, bool with_zeros);

}  // namespace penumbra::runtime
