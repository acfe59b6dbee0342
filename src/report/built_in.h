// SPDX-License-Identifier: Apache-2.0
//
// Gives access to files of the repository that are part of the program (embed.cmake writes them into a source).
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace penumbra::report {

/// Returns the files' names without folder, and their texts.
const std::vector<std::pair<std::string_view, std::string_view>>& built_in_files();
/// Returns the text of a file. Throws std::logic_error if there is no file of that name.
std::string_view built_in_file(std::string_view name);

}  // namespace penumbra::report
