// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "penumbra/chunk.h"
#include "runtime/trace.h"

namespace penumbra::runtime {

/// A chunk as a worker moves it: with where its batch is, and the packets of it that are traced.
struct InFlightChunk : Chunk {
  enum class Shading : std::uint8_t {
    waiting,    ///< the engine has not taken the batch yet
    submitted,  ///< the engine has it
    ready,      ///< post-shade may come
  };
  Shading shading = Shading::ready;
  std::uint16_t undecided = 0;  ///< packets that the current stage was given
  std::uint16_t rx_queue = 0;   ///< where it came from, among its worker's receive queues
  std::vector<PacketTrace> traces;

  /// The chunk that a batch belongs to.
  static InFlightChunk& of(Batch& batch) {
    static_assert(std::is_standard_layout_v<Chunk>);
    auto* chunk = reinterpret_cast<Chunk*>(reinterpret_cast<std::byte*>(&batch) - offsetof(Chunk, batch));
    return static_cast<InFlightChunk&>(*chunk);
  }
};

}  // namespace penumbra::runtime
