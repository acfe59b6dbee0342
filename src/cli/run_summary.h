// SPDX-License-Identifier: Apache-2.0
//
// The summary of a run after its end.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "control/config.h"
#include "runtime/router.h"

namespace penumbra::cli {

/// Returns bits per second on an Ethernet link. Each frame takes 24 more bytes: FCS 4, preamble and start delimiter 8,
/// inter-packet gap 12 (IEEE 802.3).
double wire_bits_per_second(const runtime::Traffic& traffic, std::chrono::nanoseconds elapsed);
double packets_per_second(const runtime::Traffic& traffic, std::chrono::nanoseconds elapsed);

/// Returns a description of inconsistent counters: received and replicated packets are not sent + dropped + punted, or
/// a sum differs from its parts. Returns an empty string if all counters agree, as they must at the end of a run.
std::string contradiction(const runtime::Statistics& statistics);

struct RunSummary {
  runtime::Statistics statistics;
  std::vector<std::string> ports;
  std::vector<std::vector<io::DeviceLoss>> device_losses;  ///< by port
  std::vector<unsigned> cores;
  std::vector<std::pair<std::string, std::string>> engines;  ///< Router::engines()
  std::vector<std::pair<std::string, std::string>> notes;    ///< Engine::notes(), each with the name of the engine
  std::string memory;                                        ///< io::Environment::memory
};

nlohmann::ordered_json to_json(const RunSummary& summary);
/// Formats the summary as text.
std::string to_text(const RunSummary& summary);

}  // namespace penumbra::cli
