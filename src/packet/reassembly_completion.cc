// SPDX-License-Identifier: Apache-2.0
#include "packet/reassembly_completion.h"

#include <array>
#include <span>

#include "packet/checksum.h"
#include "packet/fragment_chain.h"
#include "packet/mbuf_metadata.h"
#include "penumbra/bytes.h"

namespace penumbra {
namespace {

constexpr std::uint32_t kLargestDatagram = 65535, kLargestIpv4Header = 60, kFixedIpv6Bytes = 40, kRemovedBytes = 8;
constexpr unsigned kNotCapable = 1, kCongestion = 8;  ///< Bits of Datagram::ecns.
constexpr std::uint8_t kCongestionExperienced = 3;

/// Bytes of the first packet before the payload of the datagram.
using Front = std::array<std::uint8_t, PacketHeaders::kMostHeaderBytes + kRemovedBytes>;

/// Bytes of the IP header, without a fragment header.
std::uint32_t header_size(const DatagramPart& first, bool is_ipv4) {
  return first.data_at - first.network - (is_ipv4 ? 0U : kRemovedBytes);
}

/// Corrects the IPv4 header for a payload of `size` bytes.
void correct_ipv4(rte_mbuf& packet, std::uint32_t network, std::uint32_t bytes, std::uint32_t size, bool dont_fragment,
                  bool congestion) {
  constexpr std::uint16_t kDontFragment = 0x4000;
  std::array<std::uint8_t, kLargestIpv4Header> header{};
  const std::span<std::uint8_t> used = std::span(header).first(bytes);
  read_chain(packet, network, used);
  if (congestion) header[1] |= kCongestionExperienced;
  store_be16(&header[2], static_cast<std::uint16_t>(bytes + size));
  store_be16(&header[6], dont_fragment ? kDontFragment : std::uint16_t{0});
  write_ipv4_checksum(header.data());
  write_chain(packet, network, used);
}

/// Removes the fragment header before offset `data_at`, and corrects the IPv6 header for a payload of `size` bytes.
/// Returns the first segment.
rte_mbuf* correct_ipv6(rte_mbuf& packet, std::uint16_t network, std::uint32_t data_at, std::uint32_t size,
                       bool congestion) {
  Front front;
  FragmentHeaderLocation location;
  const std::span<std::uint8_t> used = std::span(front).first(data_at);
  if (!read_chain(packet, 0, used) || !find_fragment_header(packet, network, location)) return &packet;
  if (congestion) front[network + 1U] |= kCongestionExperienced << 4;
  front[location.next_header_at] = front[location.at];
  store_be16(&front[network + 4U], static_cast<std::uint16_t>(location.at - network - kFixedIpv6Bytes + size));
  // The link-layer and IP headers move over the fragment header.
  write_chain(packet, kRemovedBytes, used.first(location.at));
  return cut_chain(&packet, kRemovedBytes, packet.pkt_len - kRemovedBytes);
}

/// Clears what the device and the parser found out about the fragment.
void forget_fragment(rte_mbuf& packet) {
  packet.ol_flags &= ~(RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK | RTE_MBUF_F_RX_RSS_HASH);
  packet.packet_type = RTE_PTYPE_UNKNOWN;
  headers_changed(packet);
}

}  // namespace

ReassemblyReason check_whole(const DatagramParts& parts, const Datagram& datagram) {
  const DatagramPart& first = parts[datagram.first];
  const bool is_ipv4 = datagram.is_ipv4();
  const std::uint32_t size = header_size(first, is_ipv4) + datagram.size - (is_ipv4 ? 0 : kFixedIpv6Bytes);
  if (size > kLargestDatagram) return ReassemblyReason::too_long;
  if ((datagram.ecns & kCongestion) != 0 && (datagram.ecns & kNotCapable) != 0) return ReassemblyReason::ecn_conflict;
  std::size_t segments = 0;
  for (TableIndex i = datagram.first; i != kNoIndex; i = parts[i].next) segments += parts[i].packet->nb_segs;
  return segments > RTE_MBUF_MAX_NB_SEGS ? ReassemblyReason::too_many_fragments : ReassemblyReason::none;
}

rte_mbuf* join_parts(DatagramParts& parts, Datagram& datagram) {
  const DatagramPart first = parts[datagram.first];
  rte_mbuf* packet = nullptr;
  rte_mbuf* last = nullptr;
  for (TableIndex i = datagram.first; i != kNoIndex;) {
    const DatagramPart part = parts[i];
    parts.withdraw(i);
    i = part.next;
    if (packet == nullptr) {
      packet = cut_chain(part.packet, 0, part.data_at + part.range.size());
      last = rte_pktmbuf_lastseg(packet);
      continue;
    }
    rte_mbuf* const added = cut_chain(part.packet, part.data_at, part.range.size());
    packet->pkt_len += added->pkt_len;
    packet->nb_segs = static_cast<std::uint16_t>(packet->nb_segs + added->nb_segs);
    last->next = added;
    last = rte_pktmbuf_lastseg(added);
    added->nb_segs = 1;
  }
  datagram.first = datagram.last = kNoIndex;
  forget_fragment(*packet);
  const bool congestion = (datagram.ecns & kCongestion) != 0;
  if (!datagram.is_ipv4()) return correct_ipv6(*packet, first.network, first.data_at, datagram.size, congestion);
  correct_ipv4(*packet, first.network, header_size(first, true), datagram.size, datagram.largest_df == datagram.largest,
               congestion);
  return packet;
}

rte_mbuf* remove_fragment_header(rte_mbuf& packet, const FragmentFields& fields) {
  forget_fragment(packet);
  rte_mbuf* const cut = cut_chain(&packet, 0, fields.data_at + fields.range.size());
  return correct_ipv6(*cut, fields.network, fields.data_at, fields.range.size(), false);
}

}  // namespace penumbra
