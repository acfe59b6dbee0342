// SPDX-License-Identifier: Apache-2.0
//
// Places receive queues and memory on the NUMA nodes of the network cards (PacketShader, section 4.5).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "control/port_config.h"

namespace penumbra::runtime {

/// Assigns receive queues to workers. All workers get the same number of queues, as far as that is possible, and a
/// queue goes to a worker on the node of its card, as far as that keeps the numbers equal.
class QueuePlacement {
 public:
  /// `worker_nodes` has the node of each worker; below 0 if unknown. `queues` is the number of all queues.
  QueuePlacement(std::vector<int> worker_nodes, std::size_t queues);

  /// Records queues that a worker already has.
  void has(std::uint16_t worker, std::size_t queues) { counts_[worker] += queues; }
  /// Returns the worker of the next queue, whose card is on `node`; below 0 if unknown.
  std::uint16_t place(int node);

 private:
  std::vector<int> worker_nodes_;
  std::vector<std::size_t> counts_;  ///< Queues of each worker.
  std::size_t most_;                 ///< Queues of a worker, if all have about the same number.
};

/// Returns the nodes of the workers' cores.
std::vector<int> nodes_of(std::span<const unsigned> cores);
/// Returns a warning for each port whose card is on a node without a worker.
std::vector<std::string> placement_warnings(std::span<const control::PortConfig> ports,
                                            std::span<const unsigned> cores);

}  // namespace penumbra::runtime
