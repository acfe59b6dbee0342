// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "control/listen_address.h"
#include "penumbra/config_node.h"

namespace penumbra::control::fpm {

/// Holds `fpm: {listen: ADDRESS:PORT, settle: TIME, hold: TIME}`: the address where FRR's zebra connects, and how long
/// routes outlive their client. See Resync for the times.
struct Config {
  ListenAddress listen{.text = "127.0.0.1:2620", .endpoint = parse_endpoint("127.0.0.1:2620").value(), .location = {}};
  std::chrono::microseconds settle = std::chrono::seconds(30);
  std::chrono::microseconds hold = std::chrono::seconds(120);
};

/// Reads `fpm:`; absent keys have the defaults of Config. Throws InputError.
Config read_config(const ConfigNode& node);

}  // namespace penumbra::control::fpm
