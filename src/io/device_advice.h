// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace penumbra::io {

/// Returns advice for a device that DPDK cannot open or whose queues it refuses, to append to the error ("; ...").
/// Possible causes: missing rights for AF_XDP, a missing or busy network card, a bond. Returns "" if no cause is known.
/// `root` is the folder of /proc and /sys.
std::string device_advice(const std::string& devargs, const std::filesystem::path& root = "/");

}  // namespace penumbra::io
