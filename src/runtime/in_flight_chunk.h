// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "penumbra/chunk.h"
#include "runtime/trace.h"

namespace penumbra::runtime {

/// The verdict on a packet that another worker got.
inline constexpr Verdict kHandedOver{Verdict::Kind::hold, 1};

/// Adds the state of a chunk in flight: the progress of its job and its traced packets.
struct InFlightChunk : Chunk {
  enum class Job : std::uint8_t {
    waiting,    ///< The engine has not accepted the batch yet.
    submitted,  ///< The engine has accepted the batch.
    ready,      ///< The job is done, or there was none: the function can resume.
    resumed,    ///< The function needs no further job.
  };
  /// The `rx_queue` of packets that a function created, released or redirected.
  static constexpr std::uint16_t kNoQueue = std::numeric_limits<std::uint16_t>::max();

  Job job = Job::ready;
  std::uint16_t rounds = 0;     ///< Number of calls of resume() in the current stage.
  std::uint16_t undecided = 0;  ///< Undecided packets at the entry of the current stage.
  std::uint16_t rx_queue = 0;   ///< Index among the worker's receive queues.
  std::vector<PacketTrace> traces;
};

}  // namespace penumbra::runtime
