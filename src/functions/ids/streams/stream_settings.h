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

/// The policies of receivers. The last that has an address counts.
using StreamPolicies = std::vector<std::pair<std::shared_ptr<const AddressSet>, StreamPolicy>>;

/// What suricata.yaml says about streams.
struct StreamSettings {
  StreamOptions options;
  StreamPolicies policies;  ///< Those of longer prefixes come last.

  bool operator==(const StreamSettings& other) const;
};

/// Reads the sections "stream" and "host-os-policy" of a configuration of Suricata. Throws InputError.
StreamSettings read_stream_settings(const ConfigNode& root);

}  // namespace penumbra::ids
