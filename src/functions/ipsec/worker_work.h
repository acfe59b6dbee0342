// SPDX-License-Identifier: Apache-2.0
//
// The data half keeps this state of a chunk between its calls.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>

#include "crypto/jobs/cipher_jobs.shader.h"
#include "functions/ipsec/seal_order.h"
#include "functions/ipsec/worker.h"

namespace penumbra::ipsec {

/// Keeps memory that a lost accelerator may still write out of the pool for ever.
inline void keep_from_pool(rte_mbuf* packet) {
  if (packet != nullptr) rte_mbuf_refcnt_update(packet, 1);
}

struct IpsecWorker::Work {
  std::uint8_t index = 0;  ///< Index of the packet in the chunk.
  bool is_open = false;
  DataSa* sa = nullptr;
  rte_mbuf* made = nullptr;       ///< Receives what the job writes.
  rte_mbuf* copy = nullptr;       ///< Copy of a packet that is no possible source of a job, or a fragment.
  Aging aging = Aging::ages;      ///< Of a packet that is fragmented.
  bool is_fragment = false;       ///< The job seals a fragment of the packet.
  rte_mbuf* fragments = nullptr;  ///< The fragments for later rounds, a list by rte_mbuf::next.
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
  SealGroup* groups = nullptr;  ///< Groups of this round, with several workers.
  std::uint32_t group_count = 0;

  Work& add(std::uint16_t index, DataSa& sa) {
    Work& added = work[count++];
    added = {};
    added.index = static_cast<std::uint8_t>(index);
    added.sa = &sa;
    return added;
  }
  void add(const Work& again) { work[count++] = again; }
};

}  // namespace penumbra::ipsec
