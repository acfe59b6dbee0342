// SPDX-License-Identifier: Apache-2.0
//
// Tuple and Bloom search as their authors designed them for a GPU, written from their description. Sections IV.B and
// IV.C of M. Varvello et al. describe the design (Multilayer Packet Classification with Graphics Processing Units,
// IEEE/ACM ToN 2016). A class is the paper's word for the rules of one mask. A block serves each class: it loads the
// class's mask, filter and cuckoo table into shared memory and processes all headers. The block writes its results to
// the answers by an atomic maximum.
//
// The code is more exact in one respect: it orders rules by their position among all ranks. The paper uses 8 bits of
// priority above a rule's index.
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

/// A class as in table II, with a filter of 2 KB and at most 256 rules, but with more slots than in the paper (94).
/// Multiprocessors now have enough memory for the slots with four blocks, and one set of hash functions then suffices
/// for all classes.
struct PublishedClass {
  static constexpr std::uint32_t kWords = 9;  ///< Words of 32 bits: a header of 12 fields has 288 bits.
  static constexpr std::uint32_t kSubtables = 3, kSlots = 128, kMostRules = 256;
  static constexpr std::uint32_t kFilterBits = 14, kFilterWords = (1U << kFilterBits) / 32, kFilterHashes = 2;

  struct Slot {
    std::uint32_t value[kWords];
    std::uint32_t order;  ///< Position of the rule, from 1 for the lowest rank; 0: empty.
  };

  std::uint32_t mask[kWords];
  std::uint32_t filter[kFilterWords];
  Slot slot[kSubtables * kSlots];
};

/// Random numbers of the hash functions.
struct PublishedSecrets {
  std::uint32_t tuple[PublishedClass::kWords];  ///< Factors.
  std::uint32_t subtable[PublishedClass::kSubtables][2],
      filter[PublishedClass::kFilterHashes][2];  ///< Factor and summand.
};

/// Hashes a masked header.
constexpr std::uint32_t published_hash(const PublishedSecrets& secrets, const std::uint32_t* value) {
  std::uint32_t hash = 0;
  for (std::uint32_t word = 0; word < PublishedClass::kWords; ++word) hash += value[word] * secrets.tuple[word];
  return hash;
}
/// Applies a universal hash function: [(a x + b) mod p] mod d.
constexpr std::uint32_t published_slot(const PublishedSecrets& secrets, std::uint32_t subtable, std::uint32_t hash) {
  constexpr std::uint64_t kPrime = 4'294'967'291;  // The largest prime below 2^32.
  const std::uint32_t* const of = secrets.subtable[subtable];
  return static_cast<std::uint32_t>((std::uint64_t{of[0]} * hash + of[1]) % kPrime) % PublishedClass::kSlots;
}
/// Returns a bit's index in the filter.
constexpr std::uint32_t published_bit(const PublishedSecrets& secrets, std::uint32_t function, std::uint32_t hash) {
  return (secrets.filter[function][0] * hash + secrets.filter[function][1]) >> (32 - PublishedClass::kFilterBits);
}

/// Writes the winning rule's `order`, or 0, for each of `headers` headers. `words` has their words of 32 bits: all
/// first words, then all second words, and so on. Without `with_filter` it is tuple search. A block has `threads`
/// threads.
cudaError_t launch_published(const PublishedClass* classes, std::uint32_t class_count, const std::uint32_t* words,
                             std::uint32_t* answers, std::uint32_t headers, const PublishedSecrets& secrets,
                             bool with_filter, unsigned threads, cudaStream_t stream);

/// Returns Bloom search of wide keys as the shader's single source defines it. The kernel lacks the CUDA form, which
/// shares work among the threads of a block.
cuda::Kernel bloom_of_one_source();

/// A task's rules of 12 fields without ranges in the published form, on the GPU, and the task's headers.
class PublishedRules {
 public:
  /// Headers are in batches of `batch`, which must divide their number.
  PublishedRules(const RuleTask& task, std::uint32_t batch, std::uint64_t seed);

  /// Throws WrongAnswer unless the answers to all headers are `right`, on data that the GPU has, and with a filter also
  /// with copies.
  void check(const std::vector<std::uint32_t>& right, bool with_filter, unsigned threads) const;
  /// Classifies all headers once, on data that the GPU has; does not wait.
  void classify(bool with_filter, unsigned threads) const;
  void wait() const { streams_[0].wait(); }
  /// Does the same with copies of headers to the GPU and of answers back, over several streams; waits.
  void classify_with_copies(unsigned threads) const;
  std::size_t classes() const { return classes_.size(); }

 private:
  static constexpr std::size_t kStreams = 4;

  void check_orders(std::span<const std::uint32_t> right, std::span<const std::uint32_t> orders) const;
  void launch(std::size_t first, bool with_filter, unsigned threads, const Stream& stream) const;

  const std::uint32_t batch_;
  std::size_t headers_;
  PublishedSecrets secrets_{};
  std::vector<std::uint32_t> rule_of_;  ///< Places from 1, by order.
  DeviceArray<PublishedClass> classes_;
  SharedArray<std::uint32_t> words_, answers_;
  DeviceArray<std::uint32_t> gpu_words_, gpu_answers_;
  std::array<Stream, kStreams> streams_;
};

}  // namespace penumbra::bench::gpu
