// SPDX-License-Identifier: Apache-2.0
//
// What a switch reads of a frame, and the tag that it gives or takes (IEEE 802.1Q, clause 9).
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
inline constexpr std::uint16_t kVlanMask = 0x0FFF, kPriorityMask = 0xF000;  ///< of a tag; the other bits: PCP and DEI

inline constexpr std::uint64_t kGroupBit = std::uint64_t{1} << 40, kBroadcast = 0xFFFF'FFFF'FFFF;
/// Addresses that no bridge forwards: 01:80:C2:00:00:00 to 0F (IEEE 802.1Q, table 8-1).
inline constexpr std::uint64_t kReserved = 0x0180'C200'0000, kReservedMask = ~std::uint64_t{0xF};

/// The MAC address that begins at `bytes`, which 8 bytes can be read from.
inline std::uint64_t mac_at(const std::uint8_t* bytes) {
  return load_be64(bytes) >> 16;
}

/// What stands before a frame's payload, as far as a switch cares.
struct FrameHeader {
  std::uint64_t destination = 0, source = 0;
  bool is_tagged = false;
  std::uint16_t tag = 0;  ///< PCP, DEI, VLAN; 0 if there is none
  std::size_t bytes = kEthernetBytes;
};

/// Reads the header of a frame whose first `bytes` bytes are there. False if it ends within its header.
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

/// Gives the frame this tag, in place of the one that it has if it is tagged. False if there is no room before it.
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

/// Takes off the tag that the frame has.
inline void remove_tag(rte_mbuf& packet) {
  auto* const frame = rte_pktmbuf_mtod(&packet, std::uint8_t*);
  std::memmove(frame + kTagBytes, frame, kTagAt);
  rte_pktmbuf_adj(&packet, kTagBytes);
}

}  // namespace penumbra::l2
