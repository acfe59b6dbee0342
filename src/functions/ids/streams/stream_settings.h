// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "functions/ids/rules/address_set.h"
#include "functions/ids/streams/stream_policy.h"
#include "functions/ids/streams/tcp_session.h"
#include "penumbra/config_node.h"

namespace penumbra::ids {

/// What suricata.yaml says about streams.
struct StreamSettings {
  StreamOptions options;
  /// The policies of receivers, those of longer prefixes last. The last that has an address counts.
  std::vector<std::pair<std::shared_ptr<const AddressSet>, StreamPolicy>> policies;
};

/// Reads the sections "stream" and "host-os-policy" of a configuration of Suricata. Throws InputError.
StreamSettings read_stream_settings(const ConfigNode& root);

}  // namespace penumbra::ids
