// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "functions/flows/accounts.h"
#include "penumbra/function.h"

namespace penumbra::flows {

/// Answers `show flows [all|--limit N] [FILTER VALUE]...`. Throws std::invalid_argument.
nlohmann::ordered_json show_flows(const Accounts& accounts, std::span<const std::string> arguments);

/// Answers `show exporter`.
nlohmann::ordered_json show_exporter(const Accounts& accounts);

/// Returns the content of show_exporter() as metrics.
std::vector<FunctionMetric> flow_metrics(const Accounts& accounts);

/// Returns text like "10.0.0.1:1234 > 10.0.0.2:80 tcp".
std::string to_text(const flow_key& key);

}  // namespace penumbra::flows
