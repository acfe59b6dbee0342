// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace penumbra::io {

/// Returns true if a pcapng file has sections of different byte orders. libpcap refuses such a file, and reports the
/// second section's length as damage. Reads the block headers. Returns false if the file is not pcapng or is damaged
/// before the byte order changes.
bool has_mixed_byte_orders(const std::filesystem::path& file);

}  // namespace penumbra::io
