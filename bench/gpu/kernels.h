// SPDX-License-Identifier: Apache-2.0
//
// Kernels of the benchmarks, as functions that launch them on a stream and return launch errors. Arrays are in GPU
// memory or shared with the GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "gopt/kernels/chase.shader.h"
#include "gpu/kernels/hashes.shader.h"
#include "permutation.h"

namespace penumbra::bench::gpu {

/// Makes thread i write first + i to out[i].
cudaError_t launch_count(std::uint32_t* out, std::uint32_t threads, std::uint32_t first, cudaStream_t stream);

/// A batch in shared memory that one block answers.
struct FlaggedBatch {
  static constexpr std::uint32_t kItems = 64;
  const std::uint32_t* in;
  std::uint32_t* out;
  std::uint32_t* flag;  ///< Becomes the batch's number once the batch is answered.
  std::uint32_t number;
};
cudaError_t launch_flagged(const FlaggedBatch& batch, cudaStream_t stream);
/// Returns the kernel for a graph node, which must be given the batch and kItems threads.
const void* flagged_kernel();

/// Returns the answer of an exchange to a number.
constexpr std::uint32_t answer(std::uint32_t number) {
  return number * 0x9E3779B1U + 1;
}
/// Writes the answers to `items` numbers.
cudaError_t launch_answers(const std::uint32_t* in, std::uint32_t* out, std::uint32_t items, cudaStream_t stream);

/// Slot of a group of launch_exchange(), in host memory.
struct ExchangeSlot {
  static constexpr std::uint64_t kStop = ~std::uint64_t{0};

  alignas(64) std::uint64_t request;    ///< Number of the exchange << 32 | items, or kStop.
  alignas(64) std::uint32_t done;       ///< Last exchange that is answered.
  alignas(64) const std::uint32_t* in;  ///< Shared, like `out`.
  std::uint32_t* out;
};
/// Starts a group of `threads` threads for each slot. The groups wait for requests and answer them until kStop.
cudaError_t launch_exchange(ExchangeSlot* slots, unsigned count, unsigned threads, cudaStream_t stream);

/// Data of 16 bytes that travel in one access, so that no flag has to follow them.
struct alignas(16) Piece {
  static constexpr std::uint32_t kStop = ~std::uint32_t{0};
  static constexpr std::uint32_t kNumbers = 3;

  std::uint32_t number[kNumbers];
  std::uint32_t exchange;  ///< Counted from 1, or kStop.
};
/// Starts a thread for each of up to 32 pieces. The thread waits for its next exchange, and writes the answers to the
/// same index of `out`, until kStop. `in` and `out` are in host memory.
cudaError_t launch_pieces(const Piece* in, Piece* out, unsigned pieces, cudaStream_t stream);

/// Ways to make the items of a group visible to the host.
enum class Publishing {
  group,  ///< Stores of the whole group, followed by a fence and a flag.
  item,   ///< Each thread stores an item, followed by a fence and its own flag, which it sets by an atomic.
  words,  ///< Every word of an item by an atomic.
};
constexpr std::uint32_t kPublishedItems = 32;   ///< Items of a group.
constexpr std::uint32_t kPublishedBuffers = 4;  ///< Buffers of a group, used in turn.
/// Returns the word at index `place` of all words after round `round`, counted from 1.
constexpr std::uint32_t published_word(std::uint32_t place, std::uint32_t round) {
  return place * 0x9E3779B1U + round;
}
/// Makes each group fill its buffers with items of `item_words` words, one buffer each round. `words` and `flags` are
/// in host memory. `words` has the items of all groups, with a group's buffers adjacent. `flags` has a flag for each
/// item with its last round; for Publishing::group only that of a group's first item is used.
cudaError_t launch_publish(std::uint32_t* words, std::uint32_t* flags, unsigned groups, std::uint32_t item_words,
                           std::uint32_t rounds, Publishing way, cudaStream_t stream);

/// Writes the table of `lines` lines that the permutation `next` defines.
cudaError_t launch_fill_chains(chase_line* table, std::uint32_t lines, Permutation next, cudaStream_t stream);
/// Runs the shader chase(), one thread per item.
cudaError_t launch_chase(chase_view view, const std::uint32_t* start, std::uint32_t* end, std::uint32_t items,
                         cudaStream_t stream);
/// Runs the shader chase(), four items at once per thread; `items` must be a multiple of 1024.
cudaError_t launch_chase_by_fours(chase_view view, const std::uint32_t* start, std::uint32_t* end, std::uint32_t items,
                                  cudaStream_t stream);
/// Runs the shader hashes(), one thread per item.
cudaError_t launch_hashes(hashes_view view, const std::uint32_t* word, std::uint32_t* hash, std::uint32_t items,
                          cudaStream_t stream);

/// Returns the entry of random read number `number`.
constexpr std::uint32_t random_place(std::uint32_t number, std::uint32_t mask) {
  number = (number ^ number >> 16) * 0x85EBCA6BU;
  number = (number ^ number >> 13) * 0xC2B2AE35U;
  return (number ^ number >> 16) & mask;
}
/// Makes `reads` independent reads (a multiple of 2048) from a table of mask + 1 entries, and adds what they read to
/// *sum.
cudaError_t launch_random_reads(const std::uint16_t* table, std::uint32_t mask, std::uint32_t reads,
                                unsigned long long* sum, cudaStream_t stream);

}  // namespace penumbra::bench::gpu
