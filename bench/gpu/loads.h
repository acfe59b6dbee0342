// SPDX-License-Identifier: Apache-2.0
//
// An engine under load from several threads, and the limit of the bus to the GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/cuda_call.h"
#include "gpu/lookup_work.h"

namespace penumbra::bench::gpu {

/// Limit of the bus: a key to the GPU and an answer back for each look-up, in large copies without other work.
class Bus {
 public:
  Bus(std::size_t key_bytes, std::size_t answer_bytes);

  /// Returns the million look-ups per second.
  double rate() const;

 private:
  SharedArray<std::byte> in_, out_;
  DeviceArray<std::byte> gpu_in_, gpu_out_;
  Stream there_, back_;
};

/// Load of an engine.
struct LoadShape {
  std::uint32_t items;  ///< Items of a batch.
  unsigned threads;     ///< Each thread has a queue.
  /// Look-ups in flight per thread, in 4 to 128 batches. Processing them takes several times the longest latency.
  std::uint32_t items_in_flight = 1U << 18;
  double seconds = 0.05;  ///< Duration of a sample.
};

/// An engine under load. Engine and work must outlive it.
class Load {
 public:
  Load(Engine& engine, LookupWork& work, const LoadShape& shape);

  /// Throws WrongAnswer unless every answer of some rounds of batches is right.
  void check();
  /// Returns the million look-ups per second of the batches that are back when the sample ends; each thread's first
  /// batch always counts. The time is the longest that any thread was waited for, so the rate is rather too low.
  double rate();
  std::string name() const;  ///< "batches of 1024, 4 threads"
  std::string team() const;  ///< "4 threads"

 private:
  const LoadShape shape_;
  const std::uint32_t in_flight_;  ///< Batches in flight per thread.
  std::vector<std::unique_ptr<LookupStream>> streams_;
};

}  // namespace penumbra::bench::gpu
