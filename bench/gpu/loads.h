// SPDX-License-Identifier: Apache-2.0
//
// An engine under load from several threads, beside what the bus to the GPU can carry.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/cuda_call.h"
#include "gpu/lookup_work.h"

namespace penumbra::bench::gpu {

/// What the bus can carry at most: a key there and an answer back for each look-up, in large copies and nothing else.
class Bus {
 public:
  Bus(std::size_t key_bytes, std::size_t answer_bytes);

  /// Million look-ups a second.
  double rate() const;

 private:
  SharedArray<std::byte> in_, out_;
  DeviceArray<std::byte> gpu_in_, gpu_out_;
  Stream there_, back_;
};

/// How an engine is loaded.
struct LoadShape {
  std::uint32_t items;  ///< of a batch
  unsigned threads;     ///< each with a queue of its own
  /// Look-ups that a thread has in flight, in 4 batches to 128: several times what the longest way takes.
  std::uint32_t items_in_flight = 1U << 18;
  double seconds = 0.05;  ///< of a sample
};

/// Engine and work outlive it.
class Load {
 public:
  Load(Engine& engine, LookupWork& work, const LoadShape& shape);

  /// Throws WrongAnswer unless every answer of some rounds of batches is the right one.
  void check();
  /// Million look-ups a second, of the batches that are back when the sample ends, and of each thread's first where
  /// that takes longer: all of them over the longest time that a thread was waited for, so rather less than was done.
  double rate();
  std::string name() const;  ///< "batches of 1024, 4 threads"
  std::string team() const;  ///< "4 threads"

 private:
  const LoadShape shape_;
  const std::uint32_t in_flight_;  ///< batches of a thread
  std::vector<std::unique_ptr<LookupStream>> streams_;
};

}  // namespace penumbra::bench::gpu
