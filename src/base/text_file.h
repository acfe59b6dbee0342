// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace penumbra {

/// The whole of a file that a person or a program wrote. Throws InputError with the reason if it is missing,
/// unreadable, a directory, or longer than 1 GiB (an endless device, say).
std::string read_text_file(const std::filesystem::path& file);

}  // namespace penumbra
