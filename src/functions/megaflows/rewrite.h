// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_mbuf.h>

#include <span>

#include "functions/megaflows/actions.h"
#include "packet/packet_key.h"

namespace penumbra::megaflows {

using packet_fields::PacketLayers;

/// Carries out actions other than outputs in order, and updates checksums (RFC 1624). A field that the packet does not
/// have stays as it is. `layers` has the positions of the packet's headers and is updated. Returns false if there is no
/// headroom for a tag.
bool rewrite(rte_mbuf& packet, PacketLayers& layers, std::span<const Action> actions) noexcept;

}  // namespace penumbra::megaflows
