// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace penumbra::io {

/// What a generated packet's transport header says of its flow.
struct TransportFlow {
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint8_t protocol = 0;  ///< UDP's or TCP's number
};

/// Writes UDP's or TCP's header at `segment`, which has `bytes` bytes, all of them 0 so far, and behind it the frame's
/// number in its stream, six bytes, if they fit. The checksum is right; `addresses_sum` is ones_sum() of the packet's
/// addresses. There is room for the header.
void write_segment(const TransportFlow& flow, std::uint64_t index, std::uint8_t* segment, std::size_t bytes,
                   std::uint32_t addresses_sum);

}  // namespace penumbra::io
