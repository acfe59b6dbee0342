// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "cli/verify/frame.h"

namespace penumbra::cli::verify {

/// Calls `visit` with each frame of a capture and its number, counted from 1 like in capture tools. Reads with libpcap.
/// Throws InputError if the file cannot be read, is damaged or is not Ethernet.
void read_capture(const std::filesystem::path& file,
                  const std::function<void(std::uint32_t number, Frame frame)>& visit);

}  // namespace penumbra::cli::verify
