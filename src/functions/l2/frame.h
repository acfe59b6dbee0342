// SPDX-License-Identifier: Apache-2.0
//
// Reads the header of a frame, and adds or removes its tag (IEEE 802.1Q, clause 9).
#pragma once

#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>

#include "packet/edits.h"
#include "packet/mbuf_edits.h"
#include "packet/parse.h"
#include "penumbra/bytes.h"

namespace penumbra::l2 {

inline constexpr std::uint16_t kVlanMask = 0x0FFF,
                               kPriorityMask = 0xF000;  ///< parts of a tag; the priority bits are PCP and DEI

inline constexpr std::uint64_t kGroupBit = std::uint64_t{1} << 40, kBroadcast = 0xFFFF'FFFF'FFFF;
/// No bridge forwards these addresses: 01:80:C2:00:00:00 to 0F (IEEE 802.1Q, table 8-1).
inline constexpr std::uint64_t kReserved = 0x0180'C200'0000, kReservedMask = ~std::uint64_t{0xF};

/// Holds the fields before the payload of a frame. Only a tag of 802.1Q counts, and only the outermost one.
struct FrameHeader {
  std::uint64_t destination = 0, source = 0;
  bool is_tagged = false;
  std::uint16_t tag = 0;  ///< PCP, DEI, VLAN; 0 if there is no tag
  std::size_t bytes = kEthernetHeaderBytes;
};

/// Reads the header of a frame with `bytes` accessible bytes. Returns false if the frame ends within the header.
inline bool read_header(const std::uint8_t* frame, std::size_t bytes, FrameHeader& header) {
  LinkHeaders link;
  parse_link(frame, bytes, link);
  if (link.network == 0 || (link.tags == 0 && link.ethertype == ethertype::kTag)) return false;
  header.destination = mac_at(frame).value;
  header.source = mac_at(frame + 6).value;
  header.is_tagged = link.tags != 0 && !link.is_service_tag;
  header.tag = header.is_tagged ? link.tci : std::uint16_t{0};
  header.bytes = kEthernetHeaderBytes + (header.is_tagged ? kTagBytes : 0);
  return true;
}

/// Sets the tag of the frame, which is added unless the frame is tagged. Returns false if there is no headroom for the
/// tag.
inline bool set_tag(rte_mbuf& packet, bool is_tagged, std::uint16_t tag) {
  if (!is_tagged) return push_tag(packet, ethertype::kTag, tag);
  store_be16(rte_pktmbuf_mtod_offset(&packet, std::uint8_t*, kEthertypeAt + 2), tag);
  headers_changed(packet);
  return true;
}

}  // namespace penumbra::l2
