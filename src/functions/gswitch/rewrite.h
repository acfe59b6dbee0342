// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_mbuf.h>

#include <span>

#include "control/rules/flow_action.h"
#include "functions/gswitch/packet_key.h"

namespace penumbra::gswitch {

/// Sets fields of a packet (OpenFlow 1.0, section 3.3 and Table 5) in order, and updates checksums (RFC 1624). Actions
/// for fields that the packet does not have are ignored: addresses and ToS need IPv4, ports need TCP or UDP over IPv4.
/// mod_vlan_vid and mod_vlan_pcp add a missing tag.
///
/// `layers` has the positions of the packet's headers and is updated. `actions` must not contain an output. Returns
/// false if there is no headroom for a tag.
bool set_fields(rte_mbuf& packet, PacketLayers& layers, std::span<const control::rules::FlowAction> actions) noexcept;

}  // namespace penumbra::gswitch
