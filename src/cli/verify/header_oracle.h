// SPDX-License-Identifier: Apache-2.0
//
// The checks of a frame before routing and the changes by routing: those of the Ethernet header, and a dispatch to the
// address family.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/verify/flow_key.h"
#include "cli/verify/frame.h"
#include "penumbra/function.h"

namespace penumbra::cli::verify {

/// Address families that the pipeline's functions forward.
struct Families {
  bool ipv4 = false, ipv6 = false;
};

/// Returns the reason why a frame that arrives at `port` is not routed; empty if it is routed.
std::string inspect(const PortInfo& port, Frame frame, Families families);

/// Returns true if the ethertype of a frame of at least 14 bytes is IPv6.
bool is_ipv6(Frame frame);

// For the following functions, `frame` must be a routed frame.

/// Returns the size of its IP packet in bytes, header included.
unsigned ip_bytes(Frame frame);
FlowKey flow_key(Frame frame);
/// Returns the frame as it must leave, from the ethertype on.
std::vector<std::uint8_t> routed_contents(Frame frame);

/// Returns the frame without the bytes after the packet if the frame exceeds a link of this MTU, as it must leave
/// there. The packet may be of any kind. The MTU is at least 68.
Frame without_excess(Frame frame, unsigned mtu);

}  // namespace penumbra::cli::verify
