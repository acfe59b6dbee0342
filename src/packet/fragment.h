// SPDX-License-Identifier: Apache-2.0
//
// Fragments packets of IPv4 (RFC 791, section 3.2) and IPv6 (RFC 8200, section 4.5). librte_ip_frag is not used: its
// IPv6 fragments have the identification 0 and ignore extension headers, and its fragments refer to the packet.
#pragma once

#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "penumbra/packet.h"

namespace penumbra {

/// Why a packet cannot be fragmented.
enum class FragmentationFault : std::uint8_t {
  none,
  no_ip,        ///< no IPv4 or IPv6 packet, or headers that the parser could not read
  fits,         ///< the packet is not longer than the MTU
  bad_header,   ///< the IP header contradicts itself or the frame
  bad_options,  ///< the lengths of IPv4 options are wrong, so that nobody knows which to copy
  fragment,     ///< an IPv6 packet with a fragment header
  small_mtu,    ///< the MTU leaves less than 8 bytes for the payload, or the first fragment lacks headers (RFC 7112)
  too_many,     ///< more fragments than `fragments` has room for
  no_mbuf,      ///< the pool is empty
};
inline constexpr std::size_t kFragmentationFaults = static_cast<std::size_t>(FragmentationFault::no_mbuf) + 1;

/// Returns the name of the enumerator.
std::string_view to_string(FragmentationFault fault);

struct FragmentationResult {
  FragmentationFault fault = FragmentationFault::none;
  std::uint16_t count = 0;  ///< Number of fragments; 0 if there is a fault.
};

/// Makes fragments of a packet, each with its link-layer header, its metadata and a correct IPv4 checksum. The caller
/// has respected DF; the fragments have DF if the packet has it. A fragment of IPv4 may be fragmented again.
///
/// - `packet` remains unchanged, and the caller's. The parser described it as `headers`. It may be a chain.
/// - `mtu` is in bytes of an IP packet.
/// - `identification` is that of IPv6 fragments (FragmentIdentification). IPv4 fragments have the packet's.
/// - `pool` gives the mbufs. A fragment is a chain if it is longer than a buffer.
/// - `fragments` receives the fragments, which the caller owns. After a fault its elements are unspecified.
FragmentationResult fragment_packet(const rte_mbuf& packet, const PacketHeaders& headers, std::uint16_t mtu,
                                    std::uint32_t identification, rte_mempool& pool, std::span<rte_mbuf*> fragments);

}  // namespace penumbra
