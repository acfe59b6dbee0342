// SPDX-License-Identifier: Apache-2.0
//
// Stores a packet's metadata in the private area of its mbuf: its parsed headers, and its time and visits once a
// function held or redirected it. Flags of the mbuf say which parts are valid, because drivers and pools do not clear
// the area.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>

#include "packet/mbuf.h"
#include "penumbra/packet.h"

namespace penumbra {

/// Holds what the router knows about a packet besides its bytes.
struct alignas(8) PacketMetadata {
  PacketHeaders headers;       ///< Valid with kHeadersFlag.
  std::uint8_t visits = 0;     ///< Number of Emitter::go_to() calls for the packet. Valid with kJourneyFlag.
  std::uint64_t received = 0;  ///< Chunk::now of the packet's reception. Valid with kJourneyFlag.
  // Valid while the packet is handed over to another worker.
  std::uint16_t stage = 0;       ///< Stage that continues on that worker.
  std::uint16_t trace_part = 0;  ///< Part of the packet's trace that the worker writes.
  std::uint64_t trace = 0;       ///< Number of the packet's trace, or 0.
};

/// Bytes of the private area of each mbuf of a packet pool.
inline constexpr std::uint16_t kMetadataBytes = 64;
static_assert(sizeof(PacketMetadata) <= kMetadataBytes);

/// Numbers of the dynamic mbuf flags of the metadata. io::start_eal() registers them. The numbers are constants because
/// every packet needs them; DPDK gives other users the lowest free numbers.
inline constexpr unsigned kHeadersFlagBit = 40, kJourneyFlagBit = 39;
inline constexpr std::uint64_t kHeadersFlag = std::uint64_t{1} << kHeadersFlagBit;
inline constexpr std::uint64_t kJourneyFlag = std::uint64_t{1} << kJourneyFlagBit;
static_assert(kHeadersFlag <= RTE_MBUF_F_LAST_FREE && kJourneyFlag >= RTE_MBUF_F_FIRST_FREE);

namespace detail {
inline PacketMetadata& metadata_area(rte_mbuf& packet) noexcept {
  return *static_cast<PacketMetadata*>(rte_mbuf_to_priv(&packet));
}
}  // namespace detail

/// Marks all metadata of a packet as invalid. Call after reception.
inline void clear_metadata(rte_mbuf& packet) noexcept {
  packet.ol_flags &= ~(kHeadersFlag | kJourneyFlag);
}

/// Copies at most `bytes` bytes of a packet, from byte `begin` on, into buffers of `pool`. The copy has no metadata:
/// DPDK copies the flags, but not the private area. Returns null if the pool is empty.
inline rte_mbuf* copy_packet(const rte_mbuf& packet, rte_mempool& pool, std::uint32_t begin = 0,
                             std::uint32_t bytes = UINT32_MAX) noexcept {
  rte_mbuf* const copy = rte_pktmbuf_copy(&packet, &pool, begin, bytes);
  if (copy != nullptr) clear_metadata(*copy);
  return copy;
}

/// Returns the headers of a packet of a packet pool. The first call after reception parses the packet; later calls, by
/// other functions too, return the same description until headers_changed(). If headers are not all in the first
/// segment, PacketHeaders::kScattered is set.
inline const PacketHeaders& headers_of(rte_mbuf& packet) noexcept {
  PacketHeaders& headers = detail::metadata_area(packet).headers;
  if ((packet.ol_flags & kHeadersFlag) == 0) [[likely]] {
    parse_headers(packet, headers);
    packet.ol_flags |= kHeadersFlag;
  }
  return headers;
}

/// Makes the next headers_of() parse the packet again. Whoever changes a byte that PacketHeaders describes, or the
/// position of a header in the frame, calls this function. New MAC addresses, IP addresses, TTLs and checksums change
/// nothing that PacketHeaders describes.
inline void headers_changed(rte_mbuf& packet) noexcept {
  packet.ol_flags &= ~kHeadersFlag;
}

/// Returns the time and visits of a packet. `now` is the reception of a packet that has no such metadata yet.
inline PacketMetadata& journey_of(rte_mbuf& packet, std::uint64_t now) noexcept {
  PacketMetadata& metadata = detail::metadata_area(packet);
  if ((packet.ol_flags & kJourneyFlag) == 0) {
    metadata.visits = 0;
    metadata.received = now;
    packet.ol_flags |= kJourneyFlag;
  }
  return metadata;
}

/// Returns the time at which the router received a packet, or its capture time in a pipeline with ticks: nanoseconds by
/// the clock of FunctionWorker::tick(). `now` is Chunk::now of the packet's chunk.
inline std::uint64_t received_at(rte_mbuf& packet, std::uint64_t now) noexcept {
  return (packet.ol_flags & kJourneyFlag) != 0 ? detail::metadata_area(packet).received : now;
}

}  // namespace penumbra
