// SPDX-License-Identifier: Apache-2.0
//
// Parses, hashes and sums packets in the buffers of DPDK. A packet may be a chain of segments.
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <array>

#include "packet/checksum.h"
#include "packet/parse.h"
#include "penumbra/flow_hash.h"

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

/// Returns symmetric_flow_hash() of a packet, whose headers may be in several segments.
inline std::uint32_t symmetric_flow_hash(const PacketHeaders& headers, const rte_mbuf& packet, std::uint32_t seed,
                                         FlowPorts ports) noexcept {
  constexpr std::uint32_t kMostBytes = 64;  // Ethernet, two tags and IPv6
  if (!headers.has(PacketHeaders::kScattered)) [[likely]] {
    return symmetric_flow_hash(headers, rte_pktmbuf_mtod(&packet, const std::uint8_t*), seed, ports);
  }
  std::array<std::uint8_t, kMostBytes> copy;
  const void* const frame = rte_pktmbuf_read(&packet, 0, std::min(packet.pkt_len, kMostBytes), copy.data());
  return symmetric_flow_hash(headers, static_cast<const std::uint8_t*>(frame), seed, ports);
}

/// Returns the ones' complement sum of `count` bytes of a packet from `offset` on. The packet must have the bytes.
inline std::uint64_t ones_sum(const rte_mbuf& packet, std::size_t offset, std::size_t count) noexcept {
  const rte_mbuf* segment = &packet;
  for (; offset >= segment->data_len && count > 0; segment = segment->next) offset -= segment->data_len;
  std::uint64_t sum = 0;
  bool is_odd = false;  // the part begins at an odd byte of the sum
  for (; count > 0; segment = segment->next, offset = 0) {
    const std::size_t bytes = std::min<std::size_t>(count, segment->data_len - offset);
    const std::uint16_t part = folded(ones_sum(rte_pktmbuf_mtod_offset(segment, const std::uint8_t*, offset), bytes));
    sum += is_odd ? __builtin_bswap16(part) : part;
    is_odd ^= bytes % 2 != 0;
    count -= bytes;
  }
  return sum;
}

}  // namespace penumbra
