// SPDX-License-Identifier: Apache-2.0
//
// Reads the configuration of `ids`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "functions/ids/detect/pattern_group.h"
#include "functions/ids/pipeline/eve_writer.h"
#include "functions/ids/rules/exceptions.h"
#include "functions/ids/rules/rule_set.h"
#include "functions/ids/streams/stream_settings.h"
#include "penumbra/config_node.h"

namespace penumbra::ids {

/// Settings that a reload changes with the rules.
struct Policies {
  bool is_ips = false;
  MatcherKind matcher = MatcherKind::patterns;
  bool drops_flows = true;  ///< A rule that drops a packet drops its flow, too.
  ExceptionPolicies exceptions;

  bool operator==(const Policies&) const = default;
  /// Returns the policies in the configuration's words.
  std::string text() const;
};

struct Settings {
  RuleSetOptions files;
  Policies policies;
  EveSettings eve;
  bool community_id = false;
  std::uint16_t community_seed = 0;
  std::size_t flows = std::size_t{1} << 16;  ///< For all workers.
  StreamSettings streams;                    ///< Their memory is for all workers.
  bool stops_at_refused = true;
  std::vector<std::string> warnings;
};

/// Throws InputError at the place of an error.
Settings read_settings(const ConfigNode& config);

/// Loads the rules. Throws InputError at `config` if a file cannot be read, or if a rule is refused and the settings do
/// not skip it. Adds warnings about rules that are not taken.
RuleSet load_rules(Settings& settings, const ConfigNode& config);

}  // namespace penumbra::ids
