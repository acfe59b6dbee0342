// SPDX-License-Identifier: Apache-2.0
//
// Stores a packet's metadata in the private area of its mbuf. A flag of the mbuf says if the area is valid, because
// drivers and pools do not clear it.
#pragma once

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <cstdint>
#include <stdexcept>

namespace penumbra::io {

/// Holds what the router knows about a packet besides its bytes.
struct alignas(8) PacketMetadata {
  std::uint8_t visits = 0;  ///< Number of Emitter::go_to() calls for the packet.
};

/// Bytes of the private area of each mbuf of a packet pool.
inline constexpr std::uint16_t kMetadataBytes = 64;
static_assert(sizeof(PacketMetadata) <= kMetadataBytes);

/// Returns the mbuf flag of valid metadata. Throws std::runtime_error if DPDK has no free flag.
inline std::uint64_t metadata_flag() {
  static const std::uint64_t kFlag = [] {
    const rte_mbuf_dynflag description{.name = "penumbra_metadata", .flags = 0};
    const int bit = rte_mbuf_dynflag_register(&description);
    if (bit < 0) throw std::runtime_error("DPDK has no free mbuf flag for the packets' metadata");
    return std::uint64_t{1} << bit;
  }();
  return kFlag;
}

/// Returns the metadata of a packet of a packet pool, initialised at the first call after the packet's reception.
inline PacketMetadata& metadata_of(rte_mbuf& packet) {
  auto* const metadata = static_cast<PacketMetadata*>(rte_mbuf_to_priv(&packet));
  if ((packet.ol_flags & metadata_flag()) == 0) {
    *metadata = {};
    packet.ol_flags |= metadata_flag();
  }
  return *metadata;
}

}  // namespace penumbra::io
