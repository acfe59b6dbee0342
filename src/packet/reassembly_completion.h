// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_mbuf.h>

#include "packet/reassembly_fragment.h"
#include "packet/reassembly_reason.h"
#include "packet/reassembly_table.h"

namespace penumbra {

/// Returns the reason why the datagram, which has all its bytes, is no packet, or ReassemblyReason::none.
ReassemblyReason check_whole(const DatagramParts& parts, const Datagram& datagram);

/// Makes one packet of the datagram's parts, which check_whole() accepts, and leaves the datagram without parts.
rte_mbuf* join_parts(DatagramParts& parts, Datagram& datagram);

/// Removes the fragment header of a packet that is its whole datagram (RFC 6946), and padding after the packet.
rte_mbuf* remove_fragment_header(rte_mbuf& packet, const FragmentFields& fields);

}  // namespace penumbra
