// SPDX-License-Identifier: Apache-2.0
#include "packet/reassembly_fragment.h"

#include <cstddef>

#include "packet/fragment_chain.h"
#include "penumbra/bytes.h"

namespace penumbra {
namespace {

constexpr std::uint32_t kLargestPacket = 65535, kIpv4Bytes = 20, kIpv6Bytes = 40, kFragmentHeaderBytes = 8;

/// Returns the VLANs of the outermost and the innermost tag, 12 bits each.
std::uint64_t vlans_of(const rte_mbuf& packet, const PacketHeaders& headers) {
  std::array<std::uint8_t, 2> inner{};
  if (headers.tags < 2 || !read_chain(packet, headers.network - 4U, inner)) return headers.vlan();
  return headers.vlan() | static_cast<std::uint64_t>(load_be16(inner.data()) & 0xFFF) << 12;
}

std::uint64_t last_word(std::uint32_t identification, std::uint64_t vlans, std::uint64_t version) {
  return identification | vlans << 32 | version << 56;
}

/// RFC 791, section 3.1.
ReassemblyReason read_ipv4(const rte_mbuf& packet, const PacketHeaders& headers, FragmentFields& fields) {
  constexpr std::uint16_t kDontFragment = 0x4000, kMoreFragments = 0x2000, kOffset = 0x1FFF;
  std::array<std::uint8_t, kIpv4Bytes> header{};
  if (!read_chain(packet, fields.network, header)) return ReassemblyReason::bad_header;
  const std::uint32_t header_size = (header[0] & 0xFU) * 4;
  fields.packet_size = load_be16(header.data() + 2);
  if (header[0] >> 4 != 4 || header_size < kIpv4Bytes || fields.packet_size < header_size ||
      std::uint32_t{fields.network} + fields.packet_size > packet.pkt_len) {
    return ReassemblyReason::bad_header;
  }
  const std::uint16_t fragment = load_be16(header.data() + 6);
  fields.is_ipv4 = true;
  fields.more = (fragment & kMoreFragments) != 0;
  fields.dont_fragment = (fragment & kDontFragment) != 0;
  fields.ecn = header[1] & 3;
  fields.data_at = static_cast<std::uint16_t>(fields.network + header_size);
  fields.range.begin = (fragment & kOffset) * 8U;
  fields.range.end = fields.range.begin + fields.packet_size - header_size;
  if (fields.is_whole()) return ReassemblyReason::no_fragment;
  if (fields.range.end > kLargestPacket - kIpv4Bytes) return ReassemblyReason::beyond_65535;
  fields.key = {load_be64(header.data() + 12), header[9], 0, 0,
                last_word(load_be16(header.data() + 4), vlans_of(packet, headers), 4)};
  return ReassemblyReason::none;
}

/// RFC 8200, sections 3 and 4.5.
ReassemblyReason read_ipv6(const rte_mbuf& packet, const PacketHeaders& headers, FragmentFields& fields) {
  constexpr std::uint16_t kMoreFragments = 1, kOffset = 0xFFF8;
  std::array<std::uint8_t, kIpv6Bytes> header{};
  std::array<std::uint8_t, kFragmentHeaderBytes> fragment{};
  FragmentHeaderLocation location;
  if (!read_chain(packet, fields.network, header) || header[0] >> 4 != 6) return ReassemblyReason::bad_header;
  const std::uint32_t size = kIpv6Bytes + load_be16(header.data() + 4);
  if (fields.network + size > packet.pkt_len) return ReassemblyReason::bad_header;
  if (!find_fragment_header(packet, fields.network, location)) return ReassemblyReason::no_fragment;
  const std::uint32_t before = location.at + kFragmentHeaderBytes - fields.network;
  if (before > size || size > kLargestPacket || !read_chain(packet, location.at, fragment)) {
    return ReassemblyReason::bad_header;
  }
  fields.packet_size = static_cast<std::uint16_t>(size);
  fields.more = (load_be16(fragment.data() + 2) & kMoreFragments) != 0;
  fields.ecn = header[1] >> 4 & 3;
  fields.data_at = static_cast<std::uint16_t>(location.at + kFragmentHeaderBytes);
  fields.range.begin = load_be16(fragment.data() + 2) & kOffset;
  fields.range.end = fields.range.begin + size - before;
  if (fields.range.end > kLargestPacket) return ReassemblyReason::beyond_65535;
  if (fields.range.begin == 0 && headers.fault == HeaderFault::first_fragment_cut) {
    return ReassemblyReason::header_chain_cut;
  }
  fields.key = {load_be64(header.data() + 8), load_be64(header.data() + 16), load_be64(header.data() + 24),
                load_be64(header.data() + 32), last_word(load_be32(fragment.data() + 4), vlans_of(packet, headers), 6)};
  return ReassemblyReason::none;
}

}  // namespace

ReassemblyReason read_fragment(const rte_mbuf& packet, const PacketHeaders& headers, OverlapPolicy policy,
                               FragmentFields& fields) {
  fields.network = headers.network;
  ReassemblyReason reason = ReassemblyReason::no_fragment;
  if (headers.has(PacketHeaders::kIpv4)) reason = read_ipv4(packet, headers, fields);
  if (headers.has(PacketHeaders::kIpv6)) reason = read_ipv6(packet, headers, fields);
  if (reason != ReassemblyReason::none || fields.is_whole()) return reason;
  if (fields.more && fields.range.size() % 8 != 0) {
    if (!fields.is_ipv4 || policy != OverlapPolicy::linux_old) return ReassemblyReason::bad_length;
    fields.range.end -= fields.range.size() % 8;
  }
  return fields.range.size() == 0 ? ReassemblyReason::bad_length : ReassemblyReason::none;
}

bool find_fragment_header(const rte_mbuf& packet, std::uint16_t network, FragmentHeaderLocation& location) {
  using namespace ip_protocol;
  std::array<std::uint8_t, 2> header{};
  std::uint32_t at = network + kIpv6Bytes;
  location.next_header_at = static_cast<std::uint16_t>(network + 6);
  if (!read_chain(packet, location.next_header_at, std::span(header).first<1>())) return false;
  for (unsigned count = 0; count < PacketHeaders::kMostExtensions && at < PacketHeaders::kMostHeaderBytes; ++count) {
    const std::uint8_t kind = header[0];
    location.at = static_cast<std::uint16_t>(at);
    if (kind == kFragment) return true;
    if (kind != kHopByHop && kind != kRouting && kind != kDestination && kind != kAuthentication && kind != kMobility &&
        kind != kHip && kind != kShim6) {
      return false;
    }
    if (!read_chain(packet, at, header)) return false;
    location.next_header_at = location.at;
    at += kind == kAuthentication ? (header[1] + 2U) * 4 : (header[1] + 1U) * 8;
  }
  return false;
}

}  // namespace penumbra
