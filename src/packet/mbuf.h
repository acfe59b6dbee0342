// SPDX-License-Identifier: Apache-2.0
//
// Parses packets in the buffers of DPDK. A packet may be a chain of segments.
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <array>

#include "packet/parse.h"

namespace penumbra {

namespace detail {

/// Parses a copy of the headers, which are not all in the first segment.
[[gnu::noinline]] inline void parse_scattered(const rte_mbuf& packet, PacketHeaders& headers) noexcept {
  std::array<std::uint8_t, PacketHeaders::kMostHeaderBytes> copy;
  const auto bytes = static_cast<std::uint32_t>(std::min<std::size_t>(packet.pkt_len, copy.size()));
  const auto* const frame = static_cast<const std::uint8_t*>(rte_pktmbuf_read(&packet, 0, bytes, copy.data()));
  parse_headers(frame, bytes, packet.pkt_len, headers);
  headers.flags = static_cast<std::uint16_t>(headers.flags | PacketHeaders::kScattered);
}

}  // namespace detail

/// Parses the headers of a packet. If headers are not all in the first segment, PacketHeaders::kScattered is set:
/// rte_pktmbuf_read() reads such headers.
inline void parse_headers(const rte_mbuf& packet, PacketHeaders& headers) noexcept {
  parse_headers(rte_pktmbuf_mtod(&packet, const std::uint8_t*), packet.data_len, packet.pkt_len, headers);
  if (headers.fault == HeaderFault::not_accessible) [[unlikely]] {
    detail::parse_scattered(packet, headers);
  }
}
inline PacketHeaders parse_headers(const rte_mbuf& packet) noexcept {
  PacketHeaders headers;
  parse_headers(packet, headers);
  return headers;
}

}  // namespace penumbra
