// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace penumbra {

/// The value of the first line `KEY: VALUE` of a file in the style of /proc, without blanks around; empty if there is
/// none.
std::string proc_value(const std::filesystem::path& file, std::string_view key);

/// Bytes of memory that can be had without swapping; 0 if the system does not say.
std::uint64_t available_memory();

}  // namespace penumbra
