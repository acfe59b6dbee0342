// SPDX-License-Identifier: Apache-2.0
#include "cuda/locality.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <system_error>

namespace penumbra::cuda {

int node_of_core(unsigned core, const std::filesystem::path& sys) {
  std::error_code error;
  const auto folder = sys / "devices/system/cpu" / ("cpu" + std::to_string(core));
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("node")) continue;
    const char* const end = name.data() + name.size();
    int node = -1;
    const auto [after, failure] = std::from_chars(name.data() + 4, end, node);
    if (failure == std::errc() && after == end) return node;
  }
  return -1;
}

int node_of_pci(const std::string& address, const std::filesystem::path& sys) {
  std::ifstream file(sys / "bus/pci/devices" / address / "numa_node");
  int node = -1;
  return file >> node ? node : -1;
}

std::size_t nearest(std::span<const int> nodes, std::span<const unsigned> queues, int node) {
  const bool has_near = node >= 0 && std::ranges::find(nodes, node) != nodes.end();
  std::size_t best = nodes.size();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (has_near && nodes[i] != node) continue;
    if (best == nodes.size() || queues[i] < queues[best]) best = i;
  }
  return best;
}

}  // namespace penumbra::cuda
