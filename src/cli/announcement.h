// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "control/config.h"
#include "runtime/router.h"

namespace penumbra::cli {

/// Returns the lines that a router prints after its start. The lines describe the configuration, workers, pipeline and
/// engines, every port with its link and twin, the control socket, and how to stop the router. `ports` is the answer of
/// `show ports`.
std::string announcement(const control::RouterConfig& config, const runtime::Router& router);

/// Returns the line of one port; `port` is a row of `show ports`.
std::string announce_port(const nlohmann::ordered_json& port);

}  // namespace penumbra::cli
