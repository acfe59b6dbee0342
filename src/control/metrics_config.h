// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "control/listen_address.h"
#include "penumbra/config_node.h"

namespace penumbra::control {

/// `metrics: {listen: ADDRESS:PORT}`: where the router's counters can be fetched by HTTP.
struct MetricsConfig {
  ListenAddress listen;

  bool wanted() const { return !listen.text.empty(); }
};

/// Reads `metrics:`; nothing is wanted if it is not present. Throws InputError.
MetricsConfig read_metrics(const ConfigNode& node);

}  // namespace penumbra::control
