// SPDX-License-Identifier: Apache-2.0
//
// Tuple and Bloom search as their authors designed them for a GPU (M. Varvello et al.: Multilayer Packet Classification
// with Graphics Processing Units, IEEE/ACM ToN 2016, section IV.B and IV.C): a block for each class, which has the
// class's mask, filter and cuckoo table in its shared memory and goes over all headers; what it finds goes into the
// answers by an atomic maximum. Written from the paper's description, to be measured beside. In one thing it is more
// exact: where the paper has 8 bits of priority above a rule's index there is a rule's place in the order of all ranks.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "classifying.h"
#include "cuda/kernels.h"
#include "gpu/cuda_call.h"

namespace penumbra::bench::gpu {

/// Table II with a filter of 2 KB and at most 256 rules a class; slots are more than in the paper (94), because today's
/// multiprocessors have the memory for them and four blocks, and one set of hash functions then serves all classes.
struct PublishedClass {
  static constexpr std::uint32_t kWords = 9;  ///< of 32 bits: a header of 12 fields has 288 bits
  static constexpr std::uint32_t kSubtables = 3, kSlots = 128, kMostRules = 256;
  static constexpr std::uint32_t kFilterBits = 14, kFilterWords = (1U << kFilterBits) / 32, kFilterHashes = 2;

  struct Slot {
    std::uint32_t value[kWords];
    std::uint32_t order;  ///< of the rule, from 1 for the lowest rank; 0: empty
  };

  std::uint32_t mask[kWords];
  std::uint32_t filter[kFilterWords];
  Slot slot[kSubtables * kSlots];
};

/// The hash functions' random numbers.
struct PublishedSecrets {
  std::uint32_t tuple[PublishedClass::kWords];                                                      ///< factors
  std::uint32_t subtable[PublishedClass::kSubtables][2], filter[PublishedClass::kFilterHashes][2];  ///< factor, summand
};

/// Of a masked header.
constexpr std::uint32_t published_hash(const PublishedSecrets& secrets, const std::uint32_t* value) {
  std::uint32_t hash = 0;
  for (std::uint32_t word = 0; word < PublishedClass::kWords; ++word) hash += value[word] * secrets.tuple[word];
  return hash;
}
/// A universal hash function: [(a x + b) mod p] mod d.
constexpr std::uint32_t published_slot(const PublishedSecrets& secrets, std::uint32_t subtable, std::uint32_t hash) {
  constexpr std::uint64_t kPrime = 4'294'967'291;  // the largest below 2^32
  const std::uint32_t* const of = secrets.subtable[subtable];
  return static_cast<std::uint32_t>((std::uint64_t{of[0]} * hash + of[1]) % kPrime) % PublishedClass::kSlots;
}
/// A bit of the filter.
constexpr std::uint32_t published_bit(const PublishedSecrets& secrets, std::uint32_t function, std::uint32_t hash) {
  return (secrets.filter[function][0] * hash + secrets.filter[function][1]) >> (32 - PublishedClass::kFilterBits);
}

/// Writes what wins of each of `headers` headers, a rule's `order` or 0. `words` are their words of 32 bits, all first
/// ones, then all second ones, and so on. Without `with_filter` it is tuple search. `threads` a block.
cudaError_t launch_published(const PublishedClass* classes, std::uint32_t class_count, const std::uint32_t* words,
                             std::uint32_t* answers, std::uint32_t headers, const PublishedSecrets& secrets,
                             bool with_filter, unsigned threads, cudaStream_t stream);

/// Bloom search of wide keys as the one source has it, without what `cuda` shares among the threads of a block.
cuda::Kernel bloom_of_one_source();

/// Rules of a task of 12 fields without ranges in that form, on the GPU, and the task's headers.
class PublishedRules {
 public:
  /// Headers stand in batches of `batch`, of which their number is a multiple.
  PublishedRules(const RuleTask& task, std::uint32_t batch, std::uint64_t seed);

  /// Throws WrongAnswer unless the answers of all headers are these, on data that is there, and with a filter with
  /// copies too.
  void check(const std::vector<std::uint32_t>& right, bool with_filter, unsigned threads) const;
  /// All headers on data that is there, once; does not wait.
  void classify(bool with_filter, unsigned threads) const;
  void wait() const { streams_[0].wait(); }
  /// The same with copies of headers there and of answers back, over several streams; waits.
  void classify_with_copies(unsigned threads) const;
  std::size_t classes() const { return classes_.size(); }

 private:
  static constexpr std::size_t kStreams = 4;

  void check_orders(std::span<const std::uint32_t> right, std::span<const std::uint32_t> orders) const;
  void launch(std::size_t first, bool with_filter, unsigned threads, const Stream& stream) const;

  const std::uint32_t batch_;
  std::size_t headers_;
  PublishedSecrets secrets_{};
  std::vector<std::uint32_t> rule_of_;  ///< places from 1, by order
  DeviceArray<PublishedClass> classes_;
  SharedArray<std::uint32_t> words_, answers_;
  DeviceArray<std::uint32_t> gpu_words_, gpu_answers_;
  std::array<Stream, kStreams> streams_;
};

}  // namespace penumbra::bench::gpu
