// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "penumbra/flow_hash.h"

namespace penumbra::io {

/// Returns the queue, of `queues` queues, for a frame. All frames of a flow get the same queue. The seed differs from
/// the seeds of later choices on the packet's path. Otherwise each worker would see only some outcomes of a later
/// choice.
inline std::uint16_t queue_of(const std::uint8_t* frame, std::size_t bytes, std::uint16_t queues) {
  constexpr std::uint32_t kSeed = 0x51ED270B;
  return static_cast<std::uint16_t>(std::uint64_t{frame_flow_hash(frame, bytes, kSeed)} * queues >> 32);
}

}  // namespace penumbra::io
