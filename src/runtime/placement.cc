// SPDX-License-Identifier: Apache-2.0
#include "runtime/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/numa.h"
#include "io/packet_pool.h"

namespace penumbra::runtime {

QueuePlacement::QueuePlacement(std::vector<int> worker_nodes, std::size_t queues)
    : worker_nodes_(std::move(worker_nodes)),
      counts_(worker_nodes_.size()),
      most_((queues + worker_nodes_.size() - 1) / worker_nodes_.size()) {}

std::uint16_t QueuePlacement::place(int node) {
  std::size_t best = worker_nodes_.size();
  const auto offer = [&](std::size_t worker) {
    if (best == worker_nodes_.size() || counts_[worker] < counts_[best]) best = worker;
  };
  for (std::size_t i = 0; i < worker_nodes_.size(); ++i) {
    if (node >= 0 && worker_nodes_[i] == node && counts_[i] < most_) offer(i);
  }
  for (std::size_t i = 0; best == worker_nodes_.size() && i < worker_nodes_.size(); ++i) {
    if (counts_[i] == *std::ranges::min_element(counts_)) offer(i);
  }
  ++counts_[best];
  return static_cast<std::uint16_t>(best);
}

std::vector<int> nodes_of(std::span<const unsigned> cores) {
  std::vector<int> nodes;
  nodes.reserve(cores.size());
  for (const unsigned core : cores) nodes.push_back(node_of_core(core));
  return nodes;
}

std::vector<std::string> placement_warnings(std::span<const control::PortConfig> ports,
                                            std::span<const unsigned> cores) {
  std::vector<std::string> warnings;
  const std::vector<int> nodes = nodes_of(cores);
  if (std::ranges::find(nodes, -1) != nodes.end()) return warnings;
  for (const control::PortConfig& port : ports) {
    const int node = io::node_of(port);
    if (node < 0 || std::ranges::find(nodes, node) != nodes.end()) continue;
    warnings.push_back(fmt::format(
        "port '{}': its card is on NUMA node {}, and no worker is; each packet crosses to another node. Name cores of "
        "node {} in `workers: {{cores: [...]}}`",
        port.info.name, node, node));
  }
  return warnings;
}

}  // namespace penumbra::runtime
