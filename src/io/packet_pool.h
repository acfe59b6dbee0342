// SPDX-License-Identifier: Apache-2.0
//
// Creates the packet memory. All ports on a NUMA node share one pool. A packet can move between any ports without a
// copy. Packets are single mbufs, never chains.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "io/port.h"
#include "penumbra/huge_memory.h"

struct rte_mempool;

namespace penumbra::io {

inline constexpr std::uint16_t kDescriptors = 1024;  ///< Descriptors of each ethdev queue.
/// Descriptors of each queue of net_af_xdp: the number of buffers that the driver of DPDK 22.11 gives the kernel. With
/// fewer descriptors the kernel drops frames although it has buffers.
inline constexpr std::uint16_t kXdpDescriptors = 2048;

/// The size of a pool.
struct PoolSize {
  std::uint32_t packets = 0;
  std::uint16_t data_room = 0;  ///< Bytes of a packet's buffer, including the headroom.
};

/// Returns the size for all packets that can be in flight: device queues, rings between workers, and the workers' own
/// packets. A buffer holds a frame of `largest_frame` bytes or of any port's MTU.
PoolSize pool_size(std::span<const control::PortConfig> ports, std::uint16_t workers, std::uint32_t largest_frame);

/// Returns the size for the packets that the host sends through twins: the rings to the workers and the packets held at
/// both ends. Without a twin the pool has no packets.
PoolSize host_pool_size(std::span<const control::PortConfig> ports, std::uint16_t workers);

/// Returns the size for the packets that functions create. Each worker may have `waiting` packets that it has not sent.
PoolSize created_pool_size(std::span<const control::PortConfig> ports, std::uint16_t workers, std::uint32_t waiting);

/// Returns the NUMA node of the port's card: that of a PCI device, or of the device of a Linux interface. Returns -1
/// for other ports, and if the machine does not state it.
int node_of(const control::PortConfig& port);
/// Ports that share a pool, and the node of its memory; below 0 for any node.
struct NodePorts {
  int node = -1;
  std::vector<control::PortConfig> ports;
};
/// Groups ports by their nodes, at least one group. Ports without a node belong to the first group.
std::vector<NodePorts> by_node(std::span<const control::PortConfig> ports);

/// Returns an upper bound in bytes of a pool's memory.
std::uint64_t pool_bytes(const PoolSize& size);

/// The ports that use a pool share it.
using PacketPool = std::shared_ptr<rte_mempool>;

/// Creates a pool, on the NUMA node if that has memory. Throws std::runtime_error if there is not enough memory. The
/// EAL must be running.
PacketPool create_pool(const PoolSize& size, int node = -1);
/// Creates a pool of few packets for a thread that is not a worker, without per-thread caches. Throws like
/// create_pool().
PacketPool create_small_pool(const PoolSize& size);

/// The memory of a pool, in contiguous ranges. A range keeps its pool.
struct PoolMemory {
  PacketPool pool;
  std::vector<std::shared_ptr<const HugeMemory>> ranges;
};
/// Returns the memory of all pools that there are.
std::vector<PoolMemory> memory_of_pools();

}  // namespace penumbra::io
