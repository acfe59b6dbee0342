// SPDX-License-Identifier: Apache-2.0
//
// The memory that packets live in: one pool for all ports and workers, so that a packet goes from any port to any other
// without a copy. Packets are single mbufs, never chains.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "io/port.h"

struct rte_mempool;

namespace penumbra::io {

inline constexpr std::uint16_t kDescriptors = 1024;  ///< of each ethdev queue
/// Of each queue of net_af_xdp: as many as the driver of DPDK 22.11 gives the kernel buffers for. With fewer the kernel
/// drops frames that it has buffers for.
inline constexpr std::uint16_t kXdpDescriptors = 2048;

/// How much of it is needed.
struct PoolSize {
  std::uint32_t packets = 0;
  std::uint16_t data_room = 0;  ///< bytes of a packet's buffer, headroom included
};

/// Packets for everything that can be in flight: device queues, rings between workers, the workers' own. The buffer
/// takes a frame of `largest_frame` bytes or of any port's MTU.
PoolSize pool_size(std::span<const control::PortConfig> ports, std::uint16_t workers, std::uint32_t largest_frame);

/// For what the host sends by way of twins: the rings to the workers, and what both ends hold. No packets without a
/// twin.
PoolSize host_pool_size(std::span<const control::PortConfig> ports, std::uint16_t workers);

/// Bytes of memory that a pool of that size takes, ample.
std::uint64_t pool_bytes(const PoolSize& size);

/// Shared by the ports that use it.
using PacketPool = std::shared_ptr<rte_mempool>;

/// Throws std::runtime_error if there is not enough memory. The EAL must run.
PacketPool create_pool(const PoolSize& size);
/// A pool of few packets for a thread that is no worker: threads keep none of them back. Throws likewise.
PacketPool create_small_pool(const PoolSize& size);

}  // namespace penumbra::io
