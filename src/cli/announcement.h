// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "control/config.h"
#include "runtime/router.h"

namespace penumbra::cli {

/// What a router says of itself when it has started, a line each: the configuration, workers, pipeline and engines,
/// every port with its link and twin, where it listens, and how to end it. `ports` is `show ports`.
std::string announcement(const control::RouterConfig& config, const runtime::Router& router);

/// The line of one port: a row of `show ports`.
std::string announce_port(const nlohmann::ordered_json& port);

}  // namespace penumbra::cli
