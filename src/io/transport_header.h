// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace penumbra::io {

/// The transport header fields of a generated packet that identify its flow.
struct TransportFlow {
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint8_t protocol = 0;  ///< Protocol number of UDP or TCP.
};

/// Writes a UDP or TCP header at `segment`, and after it the frame's number in its stream if those six bytes fit.
/// `segment` has `bytes` zero bytes, at least the header's size. The checksum is right; `addresses_sum` is ones_sum()
/// of the packet's addresses.
void write_segment(const TransportFlow& flow, std::uint64_t index, std::uint8_t* segment, std::size_t bytes,
                   std::uint64_t addresses_sum);

}  // namespace penumbra::io
