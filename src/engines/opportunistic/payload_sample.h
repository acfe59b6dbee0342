// SPDX-License-Identifier: Apache-2.0
//
// Payload and input columns of the batches with which a shader is measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "opportunistic/measuring.h"
#include "penumbra/batch.h"
#include "penumbra/huge_memory.h"

namespace penumbra::opportunistic {

class PayloadSample {
 public:
  /// Gives each of `batches` input columns and payload of kChunk items. `random` has random bytes, at least as many as
  /// a column. The batches must not outlive this object.
  PayloadSample(const Measured& measured, const HugeMemory& random, std::span<Batch> batches);

  std::shared_ptr<const HugeMemory> memory() const { return memory_; }

 private:
  void fill(const Measured& measured, const HugeMemory& random, Batch& batch, std::size_t number);

  std::size_t source_bytes_ = 0;            ///< Of all items.
  std::size_t source_step_ = 0, room_ = 0;  ///< Bytes of an item, with padding; room of an item.
  std::shared_ptr<HugeMemory> memory_;      ///< All sources, then all destinations.
  std::vector<std::vector<std::byte>> columns_;
};

}  // namespace penumbra::opportunistic
