// SPDX-License-Identifier: Apache-2.0
//
// What must be checked of a frame before it is routed, and what must be changed in it then: the Ethernet header's part,
// and whose part the rest is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/verify/flow_key.h"
#include "cli/verify/frame.h"
#include "penumbra/function.h"

namespace penumbra::cli::verify {

/// Whose packets the pipeline's functions forward.
struct Families {
  bool ipv4 = false, ipv6 = false;
};

/// The reason why a frame that arrives at `port` is not routed at all; empty if it is.
std::string inspect(const PortInfo& port, Frame frame, Families families);

/// Of a frame of at least 14 bytes, by its ethertype.
bool is_ipv6(Frame frame);

// Below, `frame` is one that is routed.

/// Bytes of its IP packet, the header with it.
unsigned ip_bytes(Frame frame);
FlowKey flow_key(Frame frame);
/// The frame as it must leave, from the ethertype on.
std::vector<std::uint8_t> routed_contents(Frame frame);

/// A frame of any packet without what follows the packet, if the frame is longer than a link of that MTU takes: so it
/// must leave there. The MTU is at least 68.
Frame without_excess(Frame frame, unsigned mtu);

}  // namespace penumbra::cli::verify
