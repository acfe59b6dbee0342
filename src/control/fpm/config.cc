// SPDX-License-Identifier: Apache-2.0
#include "control/fpm/config.h"

#include "control/duration.h"
#include "penumbra/errors.h"

namespace penumbra::control::fpm {
namespace {

void read_time(const ConfigNode& node, std::chrono::microseconds& time) {
  if (!node.present()) return;
  const std::string text = node.text();
  const auto read = parse_duration(text);
  if (!read || *read < std::chrono::milliseconds(100) || *read > std::chrono::hours(24)) {
    throw node.error("expected a time from 100ms to 1440m, found " + quote(text));
  }
  time = *read;
}

}  // namespace

Config read_config(const ConfigNode& node) {
  Config config;
  if (!node.present()) return config;
  node.require_map({"listen", "settle", "hold"});
  if (const ConfigNode listen = node.get("listen"); listen.present()) config.listen = read_listen(listen);
  read_time(node.get("settle"), config.settle);
  read_time(node.get("hold"), config.hold);
  return config;
}

}  // namespace penumbra::control::fpm
