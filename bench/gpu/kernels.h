// SPDX-License-Identifier: Apache-2.0
//
// What runs on the GPU, as functions that launch it on a stream and tell of a refusal. Arrays are the GPU's, or shared
// with it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "gopt/kernels/chase.shader.h"
#include "gpu/kernels/hashes.shader.h"
#include "permutation.h"

namespace penumbra::bench::gpu {

/// Thread i writes first + i to out[i].
cudaError_t launch_count(std::uint32_t* out, std::uint32_t threads, std::uint32_t first, cudaStream_t stream);

/// A batch that one block answers; in shared memory.
struct FlaggedBatch {
  static constexpr std::uint32_t kItems = 64;
  const std::uint32_t* in;
  std::uint32_t* out;
  std::uint32_t* flag;  ///< the batch's number stands there once it is answered
  std::uint32_t number;
};
cudaError_t launch_flagged(const FlaggedBatch& batch, cudaStream_t stream);
/// The same as a node of a graph, which is to be given the batch: kItems threads.
const void* flagged_kernel();

/// What an exchange makes of a number.
constexpr std::uint32_t answer(std::uint32_t number) {
  return number * 0x9E3779B1U + 1;
}
/// The answers of `items` numbers.
cudaError_t launch_answers(const std::uint32_t* in, std::uint32_t* out, std::uint32_t items, cudaStream_t stream);

/// One of the groups of threads of launch_exchange(); the host's memory.
struct ExchangeSlot {
  static constexpr std::uint64_t kStop = ~std::uint64_t{0};

  alignas(64) std::uint64_t request;    ///< number of the exchange << 32 | items, or kStop
  alignas(64) std::uint32_t done;       ///< the last exchange whose answers are there
  alignas(64) const std::uint32_t* in;  ///< shared, like `out`
  std::uint32_t* out;
};
/// A group of so many threads for each slot, which waits for requests and answers them until it is told to stop.
cudaError_t launch_exchange(ExchangeSlot* slots, unsigned count, unsigned threads, cudaStream_t stream);

/// What travels in one piece: so no flag has to come behind it.
struct alignas(16) Piece {
  static constexpr std::uint32_t kStop = ~std::uint32_t{0};
  static constexpr std::uint32_t kNumbers = 3;

  std::uint32_t number[kNumbers];
  std::uint32_t exchange;  ///< counted from 1, or kStop
};
/// A thread for each of up to 32 pieces, which waits for its next exchange and writes the answers to the same place of
/// `out`, until it is told to stop. Both are the host's.
cudaError_t launch_pieces(const Piece* in, Piece* out, unsigned pieces, cudaStream_t stream);

/// How items, a group's at a time, are made visible to the host.
enum class Publishing {
  group,  ///< stores of the whole group, then a fence and a flag
  item,   ///< each thread stores an item, then a flag of its own by an atomic behind a fence
  words,  ///< every word of an item by an atomic
};
constexpr std::uint32_t kPublishedItems = 32;   ///< of a group
constexpr std::uint32_t kPublishedBuffers = 4;  ///< of a group, by turns
/// What stands at a place of all words after that round, counted from 1.
constexpr std::uint32_t published_word(std::uint32_t place, std::uint32_t round) {
  return place * 0x9E3779B1U + round;
}
/// Each of the groups fills its buffers with items of `item_words` words, one buffer each round. `words` and `flags`
/// are the host's: all items of all groups, a group's buffers one behind the other, and an item's flag each (for a
/// group: its first item's) with the last round.
cudaError_t launch_publish(std::uint32_t* words, std::uint32_t* flags, unsigned groups, std::uint32_t item_words,
                           std::uint32_t rounds, Publishing way, cudaStream_t stream);

/// Writes the table of `lines` lines through which `next` leads.
cudaError_t launch_fill_chains(chase_line* table, std::uint32_t lines, Permutation next, cudaStream_t stream);
/// The shader chase(): a thread an item.
cudaError_t launch_chase(chase_view view, const std::uint32_t* start, std::uint32_t* end, std::uint32_t items,
                         cudaStream_t stream);
/// The same with four items a thread at once; a multiple of 1024 of them.
cudaError_t launch_chase_by_fours(chase_view view, const std::uint32_t* start, std::uint32_t* end, std::uint32_t items,
                                  cudaStream_t stream);
/// The shader hashes(): a thread an item.
cudaError_t launch_hashes(hashes_view view, const std::uint32_t* word, std::uint32_t* hash, std::uint32_t items,
                          cudaStream_t stream);

/// The entry that the `number`-th random read goes to.
constexpr std::uint32_t random_place(std::uint32_t number, std::uint32_t mask) {
  number = (number ^ number >> 16) * 0x85EBCA6BU;
  number = (number ^ number >> 13) * 0xC2B2AE35U;
  return (number ^ number >> 16) & mask;
}
/// Reads that wait for nothing but their own data, the first `reads` (a multiple of 2048) ones from a table of mask + 1
/// entries; adds what they read to *sum.
cudaError_t launch_random_reads(const std::uint16_t* table, std::uint32_t mask, std::uint32_t reads,
                                unsigned long long* sum, cudaStream_t stream);

}  // namespace penumbra::bench::gpu
