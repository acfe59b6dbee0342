// SPDX-License-Identifier: Apache-2.0
//
// Lets a network card send both directions of a flow to the same queue.
#pragma once

#include <cstdint>
#include <vector>

struct rte_eth_dev_info;

namespace penumbra::io {

/// Returns the key of the Toeplitz hash for a device, with 40 bytes if the device does not tell the size of its key.
/// All 16-bit words of the key are equal, so that the hash stays the same when source and destination are exchanged
/// (Woo and Park, "Scalable TCP Session Monitoring with Symmetric Receive-side Scaling", 2012).
std::vector<std::uint8_t> symmetric_key(const rte_eth_dev_info& info);

/// Sets the key of a configured device that does not use it yet. Returns true if the device uses the key then.
bool use_symmetric_key(std::uint16_t port, const rte_eth_dev_info& info);

}  // namespace penumbra::io
