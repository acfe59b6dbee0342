// SPDX-License-Identifier: Apache-2.0
//
// What a run has to say for itself when it is over.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "control/config.h"
#include "runtime/router.h"

namespace penumbra::cli {

/// Bits per second on an Ethernet link, where each frame takes 24 bytes more: FCS 4, preamble and start delimiter 8,
/// inter-packet gap 12 (IEEE 802.3).
double wire_bits_per_second(const runtime::Traffic& traffic, std::chrono::nanoseconds elapsed);
double packets_per_second(const runtime::Traffic& traffic, std::chrono::nanoseconds elapsed);

/// Where the counters contradict each other: received and replicated are not sent + dropped + punted, or the parts of a
/// sum do not make it up. Empty if all is well, which it must be at the end of a run.
std::string contradiction(const runtime::Statistics& statistics);

struct RunSummary {
  runtime::Statistics statistics;
  std::vector<std::string> ports;
  std::vector<std::vector<io::DeviceLoss>> device_losses;  ///< of each port
  std::vector<unsigned> cores;
  std::vector<std::pair<std::string, std::string>> engines;  ///< Router::engines()
  std::vector<std::pair<std::string, std::string>> notes;    ///< Engine::notes(), each with the engine's name
  std::string memory;                                        ///< io::Environment::memory
};

nlohmann::ordered_json to_json(const RunSummary& summary);
/// For people.
std::string to_text(const RunSummary& summary);

}  // namespace penumbra::cli
