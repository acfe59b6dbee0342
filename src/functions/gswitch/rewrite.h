// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_mbuf.h>

#include <span>

#include "control/rules/flow_action.h"
#include "functions/gswitch/packet_key.h"

namespace penumbra::gswitch {

/// Sets fields of a packet (OpenFlow 1.0, section 3.3 and Table 5), in order; checksums follow (RFC 1624). A field that
/// the packet has not stays unset: addresses and ToS are of IPv4, ports of TCP and UDP over it. A tag that is not there
/// is added by mod_vlan_vid and mod_vlan_pcp. `layers` are those of the packet, and so they are afterwards. No action
/// is an output. False if there is no room for a tag.
bool set_fields(rte_mbuf& packet, PacketLayers& layers, std::span<const control::rules::FlowAction> actions) noexcept;

}  // namespace penumbra::gswitch
