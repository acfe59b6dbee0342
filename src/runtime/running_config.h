// SPDX-License-Identifier: Apache-2.0
//
// The configuration of a running router as text: with what commands have changed, and back into its files.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/file_set.h"
#include "control/config.h"
#include "runtime/pipeline.h"

namespace penumbra::runtime {

/// The configuration with the tables in it that commands have changed: what `run` accepts in the configuration's
/// folder.
std::string running_config(const control::RouterConfig& config, const Pipeline& pipeline);

/// What commands have changed and no file has: "ipv4: routes: + 10.0.0.0/8 dev lan", of each table the first ones.
std::vector<std::string> unsaved_changes(const Pipeline& pipeline);

/// Writes the configuration and the tables that commands have changed back to where they are from, or as `file`, in the
/// same folder. A table goes to the file that its key names, or into the configuration if it is short. `edited` says
/// that the configuration itself is not what its file says. Returns the files that were written. Throws
/// std::runtime_error if one of them was changed since it was read, unless `force` is true; then nothing is written.
/// After writing to its own file, the stamps of `config` are those of the new files.
std::vector<std::filesystem::path> save_config(control::RouterConfig& config, const Pipeline& pipeline,
                                               const std::filesystem::path& file, bool edited, bool force);

}  // namespace penumbra::runtime
