// SPDX-License-Identifier: Apache-2.0
#include "io/packet_pool.h"

#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <variant>

#include "base/numa.h"
#include "base/thread_sanitizer.h"
#include "control/device_arguments.h"
#include "io/packet_ring.h"
#include "packet/mbuf_metadata.h"

namespace penumbra::io {
namespace {

constexpr std::uint32_t kCache = 512;           ///< Cache size of each worker; the cache may hold 1.5 times as many.
constexpr std::uint32_t kHeldByWorker = 1024;   ///< Chunks being processed and bursts being sent.
constexpr std::uint32_t kObjectOverhead = 256;  ///< Bytes for struct rte_mbuf, the pool's header and padding.
constexpr std::uint32_t kLinkBytes = RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN;

#ifdef __SANITIZE_THREAD__
// ThreadSanitizer does not see the synchronisation inside DPDK's compiled rings. A packet that moves between two
// threads' caches through the pool would look like a race. These operations call DPDK's and annotate the order.
const rte_mempool_ops& ring_operations() {
  for (unsigned i = 0; i < rte_mempool_ops_table.num_ops; ++i) {
    if (std::string_view(rte_mempool_ops_table.ops[i].name) == "ring_mp_mc") return rte_mempool_ops_table.ops[i];
  }
  throw std::runtime_error("DPDK has no mempool driver ring_mp_mc");
}

const char* operations() {
  static const bool registered = [] {
    rte_mempool_ops told = ring_operations();
    rte_strscpy(told.name, "penumbra_tsan", sizeof told.name);
    told.enqueue = [](rte_mempool* pool, void* const* objects, unsigned count) {
      tell_handed_over(pool);
      return ring_operations().enqueue(pool, objects, count);
    };
    told.dequeue = [](rte_mempool* pool, void** objects, unsigned count) {
      const int result = ring_operations().dequeue(pool, objects, count);
      tell_taken_over(pool);
      return result;
    };
    return rte_mempool_register_ops(&told) >= 0;
  }();
  return registered ? "penumbra_tsan" : nullptr;
}
#else
const char* operations() {
  return nullptr;
}
#endif

bool any_twin(std::span<const control::PortConfig> ports) {
  return std::ranges::any_of(ports, [](const auto& port) { return !port.twin.empty(); });
}

/// The pools of the process.
class Pools {
 public:
  void add(const PacketPool& pool) {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [](const auto& each) { return each.expired(); });
    all_.push_back(pool);
  }
  std::vector<PacketPool> all() {
    const std::lock_guard lock(mutex_);
    std::vector<PacketPool> living;
    for (const auto& each : all_) {
      if (PacketPool pool = each.lock(); pool != nullptr) living.push_back(std::move(pool));
    }
    return living;
  }

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<rte_mempool>> all_;
};

Pools& pools() {
  static Pools all;
  return all;
}

/// Adds a piece of a pool's memory; pieces may be adjacent.
void add_range(rte_mempool* /*pool*/, void* ranges, rte_mempool_memhdr* memory, unsigned /*index*/) {
  auto& all = *static_cast<std::vector<std::span<std::byte>>*>(ranges);
  all.emplace_back(static_cast<std::byte*>(memory->addr), memory->len);
}

PacketPool create_with_cache(const PoolSize& size, std::uint32_t cache, int node) {
  static std::atomic<unsigned> created{0};
  const std::string name = fmt::format("packets{}", created.fetch_add(1));
  const auto create_on = [&](int socket) {
    return rte_pktmbuf_pool_create_by_ops(name.c_str(), size.packets, cache, kMetadataBytes, size.data_room, socket,
                                          operations());
  };
  rte_mempool* pool = node >= 0 ? create_on(node) : nullptr;
  if (pool == nullptr) pool = create_on(static_cast<int>(rte_socket_id()));
  if (pool == nullptr) {
    throw std::runtime_error(fmt::format("no memory for {} packets of {} bytes ({} MiB): {}", size.packets,
                                         size.data_room, pool_bytes(size) >> 20, rte_strerror(rte_errno)));
  }
  PacketPool made(pool, &rte_mempool_free);
  pools().add(made);
  return made;
}

}  // namespace

PoolSize pool_size(std::span<const control::PortConfig> ports, std::uint16_t workers, std::uint32_t largest_frame) {
  std::uint32_t packets = (workers + 1U) * (kCache * 3 / 2 + kHeldByWorker), held = 0;
  for (const control::PortConfig& port : ports) {
    held = std::max(held, port.held_packets);
    largest_frame = std::max(largest_frame, port.info.mtu + kLinkBytes);
    const std::uint32_t queues = port.queues == 0 ? workers : port.queues;
    const auto* const device = std::get_if<control::Ethdev>(&port.device);
    if (device == nullptr) continue;
    // Receive queues, transmit queues (no device gets more than there are workers), and the rings of software RSS.
    const std::uint32_t descriptors = device->devargs.starts_with("net_af_xdp") ? kXdpDescriptors : kDescriptors;
    packets += (2 * queues + workers) * descriptors + queues * kRingSlots;
  }
  if (any_twin(ports)) {
    packets += workers * kRingSlots;  // Punted packets on their way to the host.
  }
  packets += held;
  const std::uint32_t room =
      std::clamp<std::uint32_t>(largest_frame + RTE_PKTMBUF_HEADROOM, RTE_MBUF_DEFAULT_BUF_SIZE, 65535);
  return {packets, static_cast<std::uint16_t>(room)};
}

PoolSize created_pool_size(std::span<const control::PortConfig> ports, std::uint16_t workers, std::uint32_t waiting) {
  PoolSize size = pool_size(ports, workers, 0);
  size.packets += workers * waiting;
  return size;
}

PoolSize host_pool_size(std::span<const control::PortConfig> ports, std::uint16_t workers) {
  constexpr std::uint32_t kInHand = 128;
  if (!any_twin(ports)) return {0, RTE_MBUF_DEFAULT_BUF_SIZE};
  std::uint32_t packets = workers * (kRingSlots + kInHand) + (workers + 1U) * (kCache * 3 / 2);
  std::uint32_t room = RTE_MBUF_DEFAULT_BUF_SIZE;
  for (const auto& port : ports) {
    // One byte more makes frames visible that are too long.
    room = std::max(room, port.info.mtu + kLinkBytes + RTE_PKTMBUF_HEADROOM + 1);
    // A network card keeps sent packets until it reuses their descriptors. If only the host sends, a whole transmit
    // queue holds the host's packets. A queue that workers share has a ring in front.
    if (std::holds_alternative<control::Ethdev>(port.device)) packets += workers * kDescriptors + kRingSlots;
  }
  return {packets, static_cast<std::uint16_t>(room)};
}

int node_of(const control::PortConfig& port) {
  const auto* const device = std::get_if<control::Ethdev>(&port.device);
  if (device == nullptr) return -1;
  if (device->is_pci) return node_of_pci(control::device_name(device->devargs));
  const std::string interface = control::device_interface(device->devargs);
  return interface.empty() ? -1 : node_of_interface(interface);
}

std::vector<NodePorts> by_node(std::span<const control::PortConfig> ports) {
  std::vector<NodePorts> groups;
  for (const bool has_node : {true, false}) {
    for (const control::PortConfig& port : ports) {
      const int node = node_of(port);
      if ((node >= 0) != has_node) continue;
      auto group = has_node ? std::ranges::find(groups, node, &NodePorts::node) : groups.begin();
      if (group == groups.end()) group = groups.insert(group, NodePorts{.node = node, .ports = {}});
      group->ports.push_back(port);
    }
  }
  if (groups.empty()) groups.emplace_back();
  return groups;
}

std::uint64_t pool_bytes(const PoolSize& size) {
  return std::uint64_t{size.packets} * (std::uint64_t{size.data_room} + kObjectOverhead);
}

PacketPool create_pool(const PoolSize& size, int node) {
  return create_with_cache(size, kCache, node);
}

PacketPool create_small_pool(const PoolSize& size) {
  return create_with_cache(size, 0, -1);
}

std::vector<PoolMemory> memory_of_pools() {
  std::vector<PoolMemory> memory;
  for (const PacketPool& pool : pools().all()) {
    PoolMemory& of_pool = memory.emplace_back(PoolMemory{pool, {}});
    std::vector<std::span<std::byte>> ranges;
    rte_mempool_mem_iter(pool.get(), &add_range, &ranges);
    std::ranges::sort(ranges, {}, [](const auto& range) { return range.data(); });
    for (std::size_t i = 0; i < ranges.size();) {
      std::byte* const begin = ranges[i].data();
      std::byte* end = begin;
      for (; i < ranges.size() && ranges[i].data() == end; ++i) end += ranges[i].size();
      of_pool.ranges.push_back(std::make_shared<HugeMemory>(begin, static_cast<std::size_t>(end - begin), pool));
    }
  }
  return memory;
}

}  // namespace penumbra::io
