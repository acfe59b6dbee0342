// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernel.cuh"
#include "gpu/published_rules.h"
#include "tables/rules_tuple/rules_bloom.shader.h"

namespace penumbra::bench::gpu {
namespace {

constexpr std::uint32_t kWords = PublishedClass::kWords;

/// Copies with all threads of the block (algorithm 2).
__device__ void copy_words(std::uint32_t* to, const std::uint32_t* from, std::uint32_t words) {
  for (std::uint32_t i = threadIdx.x; i < words; i += blockDim.x) to[i] = from[i];
}

__device__ bool may_have(const PublishedSecrets& secrets, const std::uint32_t* filter, std::uint32_t hash) {
  bool all = true;
#pragma unroll
  for (std::uint32_t function = 0; function < PublishedClass::kFilterHashes; ++function) {
    const std::uint32_t bit = published_bit(secrets, function, hash);
    all &= (filter[bit / 32] >> bit % 32 & 1) != 0;
  }
  return all;
}

__device__ std::uint32_t find(const PublishedSecrets& secrets, const PublishedClass::Slot* slots, std::uint32_t hash,
                              const std::uint32_t* value) {
#pragma unroll
  for (std::uint32_t subtable = 0; subtable < PublishedClass::kSubtables; ++subtable) {
    const auto& slot = slots[subtable * PublishedClass::kSlots + published_slot(secrets, subtable, hash)];
    bool is_equal = slot.order != 0;
#pragma unroll
    for (std::uint32_t word = 0; word < kWords; ++word) is_equal &= slot.value[word] == value[word];
    if (is_equal) return slot.order;
  }
  return 0;
}

/// Implements algorithm 4 and section IV.C.
template <bool kWithFilter>
__global__ void search(const PublishedClass* classes, const std::uint32_t* words, std::uint32_t* answers,
                       std::uint32_t headers, const PublishedSecrets secrets) {
  __shared__ PublishedClass own;
  copy_words(reinterpret_cast<std::uint32_t*>(&own), reinterpret_cast<const std::uint32_t*>(&classes[blockIdx.x]),
             sizeof own / sizeof(std::uint32_t));
  __syncthreads();
  std::uint32_t mask[kWords];
#pragma unroll
  for (std::uint32_t word = 0; word < kWords; ++word) mask[word] = own.mask[word];
  for (std::uint32_t header = threadIdx.x; header < headers; header += blockDim.x) {
    std::uint32_t value[kWords];
#pragma unroll
    for (std::uint32_t word = 0; word < kWords; ++word) value[word] = words[word * headers + header] & mask[word];
    const std::uint32_t hash = published_hash(secrets, value);
    if (kWithFilter && !may_have(secrets, own.filter, hash)) continue;
    const std::uint32_t order = find(secrets, own.slot, hash, value);
    if (order != 0) atomicMax(&answers[header], order);
  }
}

}  // namespace

cuda::Kernel bloom_of_one_source() {
  using Shading = cuda::ShaderKernel<&rules_bloom_wide>;
  return Shading::describe();
}

cudaError_t launch_published(const PublishedClass* classes, std::uint32_t class_count, const std::uint32_t* words,
                             std::uint32_t* answers, std::uint32_t headers, const PublishedSecrets& secrets,
                             bool with_filter, unsigned threads, cudaStream_t stream) {
  if (const auto error = cudaMemsetAsync(answers, 0, headers * sizeof *answers, stream); error != cudaSuccess) {
    return error;
  }
  if (with_filter) {
    search<true><<<class_count, threads, 0, stream>>>(classes, words, answers, headers, secrets);
  } else {
    search<false><<<class_count, threads, 0, stream>>>(classes, words, answers, headers, secrets);
  }
  return cudaGetLastError();
}

}  // namespace penumbra::bench::gpu
