// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "penumbra/flow_hash.h"

namespace penumbra::io {

/// Which of `queues` queues a frame belongs to: the same one for all frames of a flow. The seed differs from that of
/// any choice made later on the packet's way, or each worker would see only some of that choice's outcomes.
inline std::uint16_t queue_of(const std::uint8_t* frame, std::size_t bytes, std::uint16_t queues) {
  constexpr std::uint32_t kSeed = 0x51ED270B;
  return static_cast<std::uint16_t>(std::uint64_t{frame_flow_hash(frame, bytes, kSeed)} * queues >> 32);
}

}  // namespace penumbra::io
