// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "control/listen_address.h"
#include "penumbra/config_node.h"

namespace penumbra::control::fpm {

/// `fpm: {listen: ADDRESS:PORT, settle: TIME, hold: TIME}`: where FRR's zebra tells of its routes, and how long they
/// outlive their client. See Resync for the times.
struct Config {
  ListenAddress listen{.text = "127.0.0.1:2620", .endpoint = parse_endpoint("127.0.0.1:2620").value(), .location = {}};
  std::chrono::microseconds settle = std::chrono::seconds(30);
  std::chrono::microseconds hold = std::chrono::seconds(120);
};

/// Reads `fpm:`; what is not present is as above. Throws InputError.
Config read_config(const ConfigNode& node);

}  // namespace penumbra::control::fpm
