// SPDX-License-Identifier: Apache-2.0
//
// Edits a running router's configuration by command: its ports, and settings of ports and functions.
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

/// Returns the command `port`, in the form of functions' commands.
FunctionCommand port_command();

/// Holds a configuration that a command has changed.
struct ConfigEdit {
  std::string text;  ///< YAML.
  Change::Counts counts;
};

/// Returns the differences between two configurations: "ports: + lan device none", "flows.idle_timeout: 5s",
/// "acl.default: not set". Both must have the same functions; `stages` are their names.
std::vector<std::string> config_differences(const ConfigNode& saved, const ConfigNode& now,
                                            std::span<const std::string> stages);

/// Adds, deletes or replaces ports. Throws InputError at the wrong entry.
ConfigEdit edit_ports(const control::RouterConfig& config, std::string_view action, const CommandEntries& entries);

/// Sets a setting to `value`, a YAML text, or removes the setting if there is none. `path` is ports.PORT.KEY or
/// STAGE.KEY, with further keys for maps. `stages` are the names of the pipeline's stages. Throws
/// std::invalid_argument.
ConfigEdit edit_setting(const control::RouterConfig& config, std::span<const std::string> stages,
                        const std::string& path, const std::optional<std::string>& value);

}  // namespace penumbra::runtime
