// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace penumbra::io {

/// Whether a pcapng file has sections of different byte orders. libpcap refuses such a file, and takes the second
/// section's length for damage. Walks the blocks' heads; returns false where the file is no pcapng file or is damaged
/// before a section of another byte order begins.
bool has_mixed_byte_orders(const std::filesystem::path& file);

}  // namespace penumbra::io
