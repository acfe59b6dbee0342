// SPDX-License-Identifier: Apache-2.0
//
// Protects files from being overwritten by an output file.
#pragma once

#include <filesystem>

namespace penumbra::io {

/// Returns true if both paths lead to one file, which need not exist yet. Returns false for character devices such as
/// /dev/null, because two writers do no harm there.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// Returns true if the file is not empty and not a capture, such as a route file or a configuration.
bool is_precious(const std::filesystem::path& file);

}  // namespace penumbra::io
