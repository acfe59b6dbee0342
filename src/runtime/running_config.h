// SPDX-License-Identifier: Apache-2.0
//
// Converts the configuration of a running router, with the changes by commands, to text and writes it back into files.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/file_set.h"
#include "control/config.h"
#include "runtime/pipeline.h"

namespace penumbra::runtime {

/// Returns the configuration with the tables that commands have changed. `run` accepts the text in the configuration's
/// folder.
std::string running_config(const control::RouterConfig& config, const Pipeline& pipeline);

/// Returns the changes by commands that no file has, such as "ipv4: routes: + 10.0.0.0/8 dev lan". Lists the first
/// changes of each table.
std::vector<std::string> unsaved_changes(const Pipeline& pipeline);

/// Writes the configuration and the changed tables back to their files, or as `file` in the same folder. A table goes
/// to the file that its key names, or into the configuration if it is short. `edited` says that the configuration
/// itself differs from its file. Returns the files that were written. If the configuration's own file is written,
/// updates the stamps of `config`. Throws std::runtime_error if a file was changed since it was read, unless `force` is
/// true; then nothing is written.
std::vector<std::filesystem::path> save_config(control::RouterConfig& config, const Pipeline& pipeline,
                                               const std::filesystem::path& file, bool edited, bool force);

}  // namespace penumbra::runtime
