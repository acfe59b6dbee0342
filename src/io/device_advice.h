// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace penumbra::io {

/// What somebody can do when DPDK does not open the device or refuses a queue, in words to append to the error
/// ("; ..."): rights that AF_XDP needs and this process lacks, a network card that is not there or not free, a bond.
/// "" if nothing is known. `root` is where /proc and /sys are.
std::string device_advice(const std::string& devargs, const std::filesystem::path& root = "/");

}  // namespace penumbra::io
