// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>

#include <string>

#include "penumbra/config_node.h"

namespace penumbra::control {

/// `metrics: {listen: ADDRESS:PORT}`: where the router's counters can be fetched by HTTP.
struct MetricsConfig {
  std::string listen;       ///< "192.0.2.1:9464"
  sockaddr_in address{};    ///< the same
  SourceLocation location;  ///< of `listen`

  bool wanted() const { return !listen.empty(); }
};

/// Reads `metrics:`; nothing is wanted if it is not present. Throws InputError.
MetricsConfig read_metrics(const ConfigNode& node);

}  // namespace penumbra::control
