// SPDX-License-Identifier: Apache-2.0
//
// Adds and removes VLAN tags of packets in the buffers of DPDK (IEEE 802.1Q, clause 9).
#pragma once

#include <rte_mbuf.h>

#include <cstring>

#include "packet/mbuf_metadata.h"
#include "packet/parse.h"
#include "penumbra/bytes.h"

namespace penumbra {

/// Adds an outermost tag. `type` is its ethertype, `tci` its tag control information. The first segment has the whole
/// Ethernet header. Returns false, without a change, if there is no headroom.
inline bool push_tag(rte_mbuf& packet, std::uint16_t type, std::uint16_t tci) {
  auto* const frame = reinterpret_cast<std::uint8_t*>(rte_pktmbuf_prepend(&packet, kTagBytes));
  if (frame == nullptr) return false;
  std::memmove(frame, frame + kTagBytes, kEthertypeAt);
  store_be16(frame + kEthertypeAt, type);
  store_be16(frame + kEthertypeAt + 2, tci);
  headers_changed(packet);
  return true;
}

/// Removes the outermost tag. The first segment has the whole tag.
inline void pop_tag(rte_mbuf& packet) {
  auto* const frame = rte_pktmbuf_mtod(&packet, std::uint8_t*);
  std::memmove(frame + kTagBytes, frame, kEthertypeAt);
  rte_pktmbuf_adj(&packet, kTagBytes);
  headers_changed(packet);
}

}  // namespace penumbra
