// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "penumbra/config_node.h"
#include "tables/rules_tuple/tuple_rules.h"

namespace penumbra::megaflows {

struct Settings {
  static constexpr std::size_t kMost = 900'000;  ///< fewer than kMostRules, because numbers rest before their reuse

  std::filesystem::path socket;
  bool punts_misses = true;
  TupleRules::Search search = TupleRules::Search::bloom;
  std::size_t most = 200'000;  ///< megaflows
  std::size_t cache = 16'384;  ///< entries of each worker's exact cache; 0: no cache
};

/// Reads `{socket: PATH, miss: punt|drop, shader: tuple|bloom, max_megaflows: N, cache: N}`; all keys are optional.
/// Throws InputError.
Settings read_settings(const ConfigNode& config);

/// Returns the changes that a reload would make, a line each. Throws InputError at a setting that takes a restart.
std::vector<std::string> differences(const Settings& before, const Settings& after, const ConfigNode& config);

}  // namespace penumbra::megaflows
