// SPDX-License-Identifier: Apache-2.0
//
// Names of Named Data Networking for benchmarks, as many as there are numbers.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "tables/ndn_names/name_table.h"

namespace penumbra::bench {

inline constexpr std::uint32_t kTopLevels = 1000;

/// Of name i the components: of four names in a row the first is somebody's, below one of kTopLevels, the others are of
/// one and two components more.
inline std::vector<std::string> name_components(std::uint32_t i, std::uint64_t seed) {
  const std::uint64_t owner = Random::mixed(seed + i / 4);
  std::vector<std::string> components{fmt::format("top{}", owner % kTopLevels), fmt::format("{:x}", owner >> 16)};
  if (i % 4 > 0) components.emplace_back(i % 4 == 2 ? "video" : "news");
  if (i % 4 == 3) components.emplace_back("archive");
  return components;
}

/// As it stands in a packet's Name. `value` is shorter than 253 bytes.
inline void append_component(std::string& name, const std::string& value) {
  name += static_cast<char>(ndn::kGenericType);
  name += static_cast<char>(value.size());
  name += value;
}

}  // namespace penumbra::bench
