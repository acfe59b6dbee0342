// SPDX-License-Identifier: Apache-2.0
//
// What the benchmarks of the whole router have in common: a table that can forward everything, as files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "control/route_generator.h"

namespace penumbra::bench {

/// Generated prefixes, each with one next hop, so that a packet to any of them is sent on.
control::GeneratedTable forwarding_table(std::vector<std::string> ports, std::uint64_t seed,
                                         std::uint32_t prefixes = 900'000);

/// Writes `routes.txt` and `neighbours.txt`. Throws std::runtime_error.
void write_table(const control::GeneratedTable& table, const std::filesystem::path& folder);

/// Writes a text to a file. Throws std::runtime_error.
void write_file(const std::filesystem::path& file, const std::string& text);

}  // namespace penumbra::bench
