// SPDX-License-Identifier: Apache-2.0
#include "cuda/locality.h"

#include <algorithm>

namespace penumbra::cuda {

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
