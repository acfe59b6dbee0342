// SPDX-License-Identifier: Apache-2.0
#include "rivals/rte_ip_frag.h"

#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_ip_frag.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <stdexcept>

namespace penumbra::bench {

RteIpFrag::RteIpFrag(HugeHeap& heap, std::uint32_t datagrams) {
  constexpr std::uint32_t kWays = 16;
  constexpr std::uint64_t kNever = UINT64_MAX / 2;
  // The documentation recommends twice as many buckets as datagrams need.
  const std::uint32_t buckets = std::bit_ceil(std::max(2 * datagrams / kWays, 1U));
  table_ = rte_ip_frag_table_create(buckets, kWays, buckets * kWays, kNever, heap.socket());
  if (table_ == nullptr) throw std::runtime_error(fmt::format("rte_ip_frag: create: {}", rte_strerror(rte_errno)));
}

RteIpFrag::~RteIpFrag() {
  rte_ip_frag_table_destroy(table_);
}

rte_mbuf* RteIpFrag::add(rte_mbuf& packet) const {
  static thread_local const auto kFreed = std::make_unique<rte_ip_frag_death_row>();
  packet.l2_len = RTE_ETHER_HDR_LEN;
  packet.l3_len = sizeof(rte_ipv4_hdr);
  return rte_ipv4_frag_reassemble_packet(table_, kFreed.get(), &packet, 1,
                                         rte_pktmbuf_mtod_offset(&packet, rte_ipv4_hdr*, RTE_ETHER_HDR_LEN));
}

unsigned RteIpFrag::fragment(rte_mbuf& packet, std::uint16_t mtu, rte_mempool& pool, std::span<rte_mbuf*> fragments) {
  const auto room = static_cast<std::uint16_t>(fragments.size());
  return static_cast<unsigned>(
      std::max(rte_ipv4_fragment_packet(&packet, fragments.data(), room, mtu, &pool, &pool), 0));
}

unsigned RteIpFrag::fragment_by_copy(rte_mbuf& packet, std::uint16_t mtu, rte_mempool& pool,
                                     std::span<rte_mbuf*> fragments) {
  const auto room = static_cast<std::uint16_t>(fragments.size());
  return static_cast<unsigned>(
      std::max(rte_ipv4_fragment_copy_nonseg_packet(&packet, fragments.data(), room, mtu, &pool), 0));
}

}  // namespace penumbra::bench
