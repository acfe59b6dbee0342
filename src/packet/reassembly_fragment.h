// SPDX-License-Identifier: Apache-2.0
//
// Reads the fields of a fragment that its reassembly needs.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>

#include "packet/reassembly_policy.h"
#include "packet/reassembly_reason.h"
#include "penumbra/packet.h"

namespace penumbra {

/// Identifies a datagram: addresses, protocol (IPv4), identification, VLANs of two tags, and version.
using DatagramKey = std::array<std::uint64_t, 5>;

struct FragmentFields {
  DatagramKey key{};
  FragmentRange range;            ///< Part of the datagram that the fragment carries.
  std::uint16_t network = 0;      ///< Offset of the IP header in the frame.
  std::uint16_t data_at = 0;      ///< Offset of the range in the frame.
  std::uint16_t packet_size = 0;  ///< Bytes of the fragment's IP packet.
  std::uint8_t ecn = 0;           ///< 0 to 3 (RFC 3168).
  bool is_ipv4 = false;
  bool more = false;
  bool dont_fragment = false;  ///< IPv4 only.

  bool is_whole() const { return range.begin == 0 && !more; }
};

/// Reads the fragment `packet`, which the parser described as `headers`. Returns ReassemblyReason::none, or the reason
/// why the packet cannot be part of a datagram. With the policy `linux` the length of a fragment that is not the last
/// is rounded down to a multiple of 8, as in Linux.
ReassemblyReason read_fragment(const rte_mbuf& packet, const PacketHeaders& headers, OverlapPolicy policy,
                               FragmentFields& fields);

/// Location of the fragment header of IPv6.
struct FragmentHeaderLocation {
  std::uint16_t at = 0;              ///< Offset of the header in the frame.
  std::uint16_t next_header_at = 0;  ///< Offset of the byte that announces the header.
};
/// Finds the fragment header of the IPv6 packet at offset `network`. Returns false if the first
/// PacketHeaders::kMostExtensions headers and PacketHeaders::kMostHeaderBytes bytes have none.
bool find_fragment_header(const rte_mbuf& packet, std::uint16_t network, FragmentHeaderLocation& location);

}  // namespace penumbra
