// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "penumbra/chunk.h"
#include "runtime/trace.h"

namespace penumbra::runtime {

/// Adds the state of a chunk in flight: the progress of its batch and its traced packets.
struct InFlightChunk : Chunk {
  enum class Shading : std::uint8_t {
    waiting,    ///< The engine has not accepted the batch yet.
    submitted,  ///< The engine has accepted the batch.
    ready,      ///< The chunk is ready for post-shade.
  };
  Shading shading = Shading::ready;
  std::uint16_t undecided = 0;  ///< Undecided packets at the entry of the current stage.
  std::uint16_t rx_queue = 0;   ///< Index among the worker's receive queues.
  std::vector<PacketTrace> traces;

  /// Returns the chunk that contains the batch.
  static InFlightChunk& of(Batch& batch) {
    static_assert(std::is_standard_layout_v<Chunk>);
    auto* chunk = reinterpret_cast<Chunk*>(reinterpret_cast<std::byte*>(&batch) - offsetof(Chunk, batch));
    return static_cast<InFlightChunk&>(*chunk);
  }
};

}  // namespace penumbra::runtime
