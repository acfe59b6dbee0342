// SPDX-License-Identifier: Apache-2.0
//
// Makes the first bytes of a packet of several segments contiguous.
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "packet/mbuf_metadata.h"

namespace penumbra {

/// The first segment of a packet that a function gets has this many bytes, or the whole packet if it is shorter. Only
/// packets whose first buffer is full or shared are excepted.
inline constexpr std::uint32_t kContiguousBytes = 256;

namespace detail {

/// True if only this packet uses the segment's memory.
inline bool is_own_segment(const rte_mbuf& segment) noexcept {
  return rte_mbuf_refcnt_read(&segment) == 1 && RTE_MBUF_DIRECT(&segment);
}

}  // namespace detail

/// Moves bytes of later segments into the first one, until it has the first `bytes` bytes of the packet, or all.
/// Returns false, without a change, if the first segment has no room or another packet shares the memory.
inline bool gather(rte_mbuf& packet, std::uint32_t bytes) noexcept {
  const std::uint32_t wanted = std::min(bytes, packet.pkt_len);
  if (packet.data_len >= wanted) return true;
  std::uint32_t missing = wanted - packet.data_len;
  if (!detail::is_own_segment(packet) || rte_pktmbuf_tailroom(&packet) < missing) return false;
  std::uint32_t found = 0;
  for (const rte_mbuf* each = packet.next; found < missing; each = each->next) {
    if (!detail::is_own_segment(*each)) return false;
    found += each->data_len;
  }
  headers_changed(packet);  // Headers may be scattered no longer.
  auto* to = rte_pktmbuf_mtod_offset(&packet, std::uint8_t*, packet.data_len);
  packet.data_len = static_cast<std::uint16_t>(wanted);
  while (missing > 0) {
    rte_mbuf* const segment = packet.next;
    const auto part = static_cast<std::uint16_t>(std::min<std::uint32_t>(missing, segment->data_len));
    std::memcpy(to, rte_pktmbuf_mtod(segment, const void*), part);
    to += part;
    missing -= part;
    segment->data_off = static_cast<std::uint16_t>(segment->data_off + part);
    segment->data_len = static_cast<std::uint16_t>(segment->data_len - part);
    if (segment->data_len > 0) break;
    packet.next = segment->next;
    --packet.nb_segs;
    rte_pktmbuf_free_seg(segment);
  }
  // Empty segments at the end would keep a whole packet from being one segment.
  while (packet.next != nullptr && packet.data_len == packet.pkt_len) {
    rte_mbuf* const empty = packet.next;
    packet.next = empty->next;
    --packet.nb_segs;
    rte_pktmbuf_free_seg(empty);
  }
  return true;
}

}  // namespace penumbra
