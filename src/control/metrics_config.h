// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "control/listen_address.h"
#include "penumbra/config_node.h"

namespace penumbra::control {

/// Holds `metrics: {listen: ADDRESS:PORT}`: the address that serves the router's counters by HTTP.
struct MetricsConfig {
  ListenAddress listen;

  bool wanted() const { return !listen.text.empty(); }
};

/// Reads `metrics:`. If the node is not present, wanted() of the result is false. Throws InputError.
MetricsConfig read_metrics(const ConfigNode& node);

}  // namespace penumbra::control
