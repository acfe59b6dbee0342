// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <span>

#include "rivals/huge_heap.h"

struct rte_ip_frag_tbl;

namespace penumbra::bench {

/// DPDK's library for fragments of IPv4. It joins at most 8 fragments, and knows no policies for overlaps.
class RteIpFrag {
 public:
  /// Makes a table for `datagrams` incomplete datagrams. Throws std::runtime_error.
  RteIpFrag(HugeHeap& heap, std::uint32_t datagrams);
  RteIpFrag(const RteIpFrag&) = delete;
  RteIpFrag& operator=(const RteIpFrag&) = delete;
  ~RteIpFrag();

  /// Adds a fragment without VLAN tags. Returns the datagram if it is complete, or null.
  rte_mbuf* add(rte_mbuf& packet) const;

  /// Makes fragments without a link-layer header of a packet without one. Each fragment refers to the packet, or has a
  /// copy of its bytes. Returns their number, or 0 if that fails.
  static unsigned fragment(rte_mbuf& packet, std::uint16_t mtu, rte_mempool& pool, std::span<rte_mbuf*> fragments);
  static unsigned fragment_by_copy(rte_mbuf& packet, std::uint16_t mtu, rte_mempool& pool,
                                   std::span<rte_mbuf*> fragments);

 private:
  rte_ip_frag_tbl* table_;
};

}  // namespace penumbra::bench
