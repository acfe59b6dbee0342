// SPDX-License-Identifier: Apache-2.0
//
// Files of the repository that are part of the program (embed.cmake writes them into a source).
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace penumbra::report {

/// Name without folder, and text.
const std::vector<std::pair<std::string_view, std::string_view>>& built_in_files();
/// The text of one of them. Throws std::logic_error if there is none of that name.
std::string_view built_in_file(std::string_view name);

}  // namespace penumbra::report
