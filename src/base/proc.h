// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace penumbra {

/// Returns the value of the first line `KEY: VALUE` of a file in the style of /proc, without surrounding blanks.
/// Returns an empty text if there is no such line.
std::string proc_value(const std::filesystem::path& file, std::string_view key);

/// Returns the bytes of memory that are available without swapping, or 0 if unknown.
std::uint64_t available_memory();

}  // namespace penumbra
