// SPDX-License-Identifier: Apache-2.0
//
// Generates any number of Named Data Networking names for benchmarks.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "tables/ndn_names/name_table.h"

namespace penumbra::bench {

inline constexpr std::uint32_t kTopLevels = 1000;

/// Returns the components of name `i`. Of four consecutive names, the first is an owner's name below one of kTopLevels
/// top levels. The other three extend it by one or two components.
inline std::vector<std::string> name_components(std::uint32_t i, std::uint64_t seed) {
  const std::uint64_t owner = Random::mixed(seed + i / 4);
  std::vector<std::string> components{fmt::format("top{}", owner % kTopLevels), fmt::format("{:x}", owner >> 16)};
  if (i % 4 > 0) components.emplace_back(i % 4 == 2 ? "video" : "news");
  if (i % 4 == 3) components.emplace_back("archive");
  return components;
}

/// Appends a component in the packet format. `value` must be shorter than 253 bytes.
inline void append_component(std::string& name, const std::string& value) {
  name += static_cast<char>(ndn::kGenericType);
  name += static_cast<char>(value.size());
  name += value;
}

}  // namespace penumbra::bench
