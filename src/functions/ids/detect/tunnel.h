// SPDX-License-Identifier: Apache-2.0
//
// Finds the packets that tunnels carry: IP in IP, GRE with IP, PPP, Ethernet or ERSPAN, VXLAN, Geneve, and Teredo.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "functions/ids/detect/link_layer.h"
#include "functions/ids/detect/packet_source.h"
#include "functions/ids/detect/packet_view.h"
#include "functions/ids/rules/tunnel_settings.h"

namespace penumbra::ids {

struct TunnelPayload {
  LinkLayer::Kind kind = LinkLayer::Kind::raw;  ///< The link layer of `frame`.
  std::span<const std::uint8_t> frame;
  PacketSource source = PacketSource::wire;  ///< The kind of the tunnel.
};

/// Returns the frame that a packet carries, or nothing if it is no packet of a tunnel. Precondition: the packet is
/// readable, and `frame` has its bytes.
std::optional<TunnelPayload> tunnel_payload(const PacketView& packet, std::span<const std::uint8_t> frame,
                                            const TunnelSettings& settings = {});

}  // namespace penumbra::ids
