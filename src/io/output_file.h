// SPDX-License-Identifier: Apache-2.0
//
// What must not be lost to a file that is written anew.
#pragma once

#include <filesystem>

namespace penumbra::io {

/// Whether both lead to one file, also one that is yet to be made. Writing to a device as /dev/null twice harms
/// nothing.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// Whether that is a file with something in it and no capture: a route file, say, or a configuration.
bool is_precious(const std::filesystem::path& file);

}  // namespace penumbra::io
