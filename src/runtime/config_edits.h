// SPDX-License-Identifier: Apache-2.0
//
// Changes of a running router's configuration by command: its ports, and settings of ports and functions.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "control/config.h"
#include "penumbra/command.h"

namespace penumbra::runtime {

/// The command `port`, in the form that functions register theirs.
FunctionCommand port_command();

/// A configuration that a command has changed.
struct ConfigEdit {
  std::string text;  ///< YAML
  Change::Counts counts;
};

/// Returns what `now` has that `saved` has not, and the other way round: "ports: + lan device none",
/// "flows.idle_timeout: 5s", "acl.default: not set". Both have the same functions; `stages` are their names.
std::vector<std::string> config_differences(const ConfigNode& saved, const ConfigNode& now,
                                            std::span<const std::string> stages);

/// Adds, deletes or replaces ports. Throws InputError at the wrong entry.
ConfigEdit edit_ports(const control::RouterConfig& config, std::string_view action, const CommandEntries& entries);

/// Gives a setting a value, a YAML text, or takes it out if there is none. `path` is ports.PORT.KEY or STAGE.KEY, with
/// further keys where a value is a map. `stages` are the names of the pipeline's stages. Throws std::invalid_argument
/// for a path, InputError for a value.
ConfigEdit edit_setting(const control::RouterConfig& config, std::span<const std::string> stages,
                        const std::string& path, const std::optional<std::string>& value);

}  // namespace penumbra::runtime
