// SPDX-License-Identifier: Apache-2.0
//
// The parts of suricata.yaml that name rules and variables, or are about streams, tunnels and exceptions.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "functions/ids/rules/exceptions.h"
#include "functions/ids/rules/rule_set.h"
#include "functions/ids/rules/tunnel_settings.h"
#include "functions/ids/streams/stream_settings.h"

namespace penumbra::ids {

struct SuricataYaml {
  RuleSetOptions options;  ///< Variables and files; `rules` holds the files of "rule-files".
  StreamSettings streams;
  ExceptionSettings exceptions;
  std::optional<TunnelSettings> tunnels;  ///< Absent without a section "decoder".
  std::string warning;                    ///< Names the sections that have no effect; may be empty.
};

/// Reads a configuration of Suricata. Relative files start at its folder, rule files at "default-rule-path". Throws
/// InputError.
SuricataYaml read_suricata_yaml(const std::filesystem::path& file);

}  // namespace penumbra::ids
