// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace penumbra {

/// Returns the content of a text file without a byte order mark of UTF-8. Throws InputError if the file is UTF-16,
/// missing, unreadable, a directory, or longer than `most` bytes, such as an endless device.
std::string read_text_file(const std::filesystem::path& file, std::size_t most = std::size_t{1} << 30);

}  // namespace penumbra
