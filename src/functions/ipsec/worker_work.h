// SPDX-License-Identifier: Apache-2.0
//
// What the data half keeps of a chunk between its calls.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>

#include "crypto/jobs/cipher_jobs.shader.h"
#include "functions/ipsec/worker.h"

namespace penumbra::ipsec {

struct IpsecWorker::Work {
  std::uint8_t index = 0;  ///< Of the packet in the chunk.
  bool is_open = false;
  DataSa* sa = nullptr;
  rte_mbuf* made = nullptr;  ///< Receives what the job writes.
  rte_mbuf* copy = nullptr;  ///< Of the packet, if the packet is no possible source of a job.
  std::uint64_t number = 0;
  SealPlan seal;
  OpenPlan open;
};

struct IpsecWorker::Works {
  const Snapshot* snapshot = nullptr;
  std::uint32_t count = 0;
  Work* work = nullptr;  ///< Chunk::kCapacity elements.
  cipher_job* jobs = nullptr;
  std::uint64_t *from = nullptr, *to = nullptr;
  std::uint32_t *lengths = nullptr, *rooms = nullptr, *out_lengths = nullptr;
  std::uint8_t* status = nullptr;

  Work& add(std::uint16_t index, DataSa& sa) {
    Work& added = work[count++];
    added = {};
    added.index = static_cast<std::uint8_t>(index);
    added.sa = &sa;
    return added;
  }
};

}  // namespace penumbra::ipsec
