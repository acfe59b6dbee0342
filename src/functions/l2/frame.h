// SPDX-License-Identifier: Apache-2.0
//
// Reads the header of a frame, and adds or removes its tag (IEEE 802.1Q, clause 9).
#pragma once

#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "functions/forwarding/ethernet.h"
#include "penumbra/bytes.h"

namespace penumbra::l2 {

using forwarding::kEthernetBytes;
using forwarding::kEthertypeAt;

inline constexpr std::uint16_t kTagEthertype = 0x8100;
inline constexpr std::size_t kTagBytes = 4, kTagAt = kEthertypeAt;
inline constexpr std::uint16_t kVlanMask = 0x0FFF,
                               kPriorityMask = 0xF000;  ///< parts of a tag; the priority bits are PCP and DEI

inline constexpr std::uint64_t kGroupBit = std::uint64_t{1} << 40, kBroadcast = 0xFFFF'FFFF'FFFF;
/// No bridge forwards these addresses: 01:80:C2:00:00:00 to 0F (IEEE 802.1Q, table 8-1).
inline constexpr std::uint64_t kReserved = 0x0180'C200'0000, kReservedMask = ~std::uint64_t{0xF};

/// Returns the MAC address that begins at `bytes`. 8 bytes must be readable.
inline std::uint64_t mac_at(const std::uint8_t* bytes) {
  return load_be64(bytes) >> 16;
}

/// Holds the fields before the payload of a frame.
struct FrameHeader {
  std::uint64_t destination = 0, source = 0;
  bool is_tagged = false;
  std::uint16_t tag = 0;  ///< PCP, DEI, VLAN; 0 if there is no tag
  std::size_t bytes = kEthernetBytes;
};

/// Reads the header of a frame with `bytes` accessible bytes. Returns false if the frame ends within the header.
inline bool read_header(const std::uint8_t* frame, std::size_t bytes, FrameHeader& header) {
  if (bytes < kEthernetBytes) return false;
  header.destination = mac_at(frame);
  header.source = mac_at(frame + 6);
  header.is_tagged = load_be16(frame + kEthertypeAt) == kTagEthertype;
  header.tag = 0;
  header.bytes = kEthernetBytes;
  if (!header.is_tagged) return true;
  if (bytes < kEthernetBytes + kTagBytes) return false;
  header.tag = load_be16(frame + kTagAt + 2);
  header.bytes = kEthernetBytes + kTagBytes;
  return true;
}

/// Sets the tag of the frame, which is added unless the frame is tagged. Returns false if there is no headroom for the
/// tag.
inline bool set_tag(rte_mbuf& packet, bool is_tagged, std::uint16_t tag) {
  if (!is_tagged) {
    auto* const frame = reinterpret_cast<std::uint8_t*>(rte_pktmbuf_prepend(&packet, kTagBytes));
    if (frame == nullptr) return false;
    std::memmove(frame, frame + kTagBytes, kTagAt);
    store(frame + kTagAt, __builtin_bswap16(kTagEthertype));
  }
  store(rte_pktmbuf_mtod_offset(&packet, std::uint8_t*, kTagAt + 2), __builtin_bswap16(tag));
  return true;
}

/// Removes the tag of a tagged frame.
inline void remove_tag(rte_mbuf& packet) {
  auto* const frame = rte_pktmbuf_mtod(&packet, std::uint8_t*);
  std::memmove(frame + kTagBytes, frame, kTagAt);
  rte_pktmbuf_adj(&packet, kTagBytes);
}

}  // namespace penumbra::l2
