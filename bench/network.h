// SPDX-License-Identifier: Apache-2.0
//
// Shared parts of the whole-router benchmarks: a table that can forward every packet, as files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "control/route_generator.h"

namespace penumbra::bench {

/// Returns generated prefixes with one next hop each, so that packets to any of them are forwarded.
control::GeneratedTable forwarding_table(std::vector<std::string> ports, std::uint64_t seed,
                                         std::uint32_t prefixes = 900'000);

/// Writes `routes.txt` and `neighbours.txt`. Throws std::runtime_error.
void write_table(const control::GeneratedTable& table, const std::filesystem::path& folder);

/// Writes `text` to a file. Throws std::runtime_error.
void write_file(const std::filesystem::path& file, const std::string& text);

}  // namespace penumbra::bench
