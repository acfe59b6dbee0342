// SPDX-License-Identifier: Apache-2.0
//
// Bloom search (rules_bloom.shader.h) for a GPU, with shared memory per block. A block takes a tile of keys, one per
// thread, and goes through the subtables in chunks. The block copies the masks, the salts and the places of filters and
// prefilters of a chunk into shared memory. The keys are there too, in halves of words, because each prefilter uses
// another half.
//
// After each chunk, keys that no later subtable can improve are finished and leave, and the unfinished keys are
// compacted. A warp thus has 32 keys until the tile has no more. In the shader, each thread waits for the last key of
// its warp. In GSwitch (section IV.C), a block has one subtable and all keys, so no key finishes early.
//
// The tile asks the same filters and tables in the same order as the shader, and some more, because it checks bounds
// once per chunk. The answers are therefore equal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "penumbra/cuda_form.h"
#include "tables/rules_tuple/rules_bloom.shader.h"

namespace penumbra {

template <std::uint32_t kWords>
class RulesBloomTile {
 public:
  /// Writes the winners of all keys that the blocks of the grid share.
  template <class Key>
  static __device__ void classify_all(const rules_tuple_view& view, const Key* keys, std::uint32_t* rules,
                                      std::uint32_t n) {
    __shared__ RulesBloomTile tile;
    const std::uint32_t step = gridDim.x * blockDim.x;
    for (std::uint32_t first = blockIdx.x * blockDim.x; first < n; first += step) {
      tile.classify(view, keys + first, rules + first, min(n - first, blockDim.x));
    }
  }

  /// The decoded prefilter of a subtable: 16 bytes, one load.
  struct alignas(16) Prefilter {
    std::uint32_t mask;
    std::uint32_t half;  ///< offset of the keys' halves that it uses, in bytes from the first half
    std::uint32_t shift;
    std::uint32_t begin;  ///< of the prefilter, in halves of words
  };
  static __device__ Prefilter apart(std::uint64_t prefilter) {
    return {.mask = static_cast<std::uint32_t>(prefilter),
            .half = rules_prefilter_half(prefilter) * kKeys * static_cast<std::uint32_t>(sizeof(std::uint32_t)),
            .shift = rules_prefilter_shift(prefilter),
            .begin = rules_prefilter_place(prefilter, 0)};
  }

  /// Returns one bit for each of eight subtables, set if the subtable's prefilter passes the key. `halves` points to
  /// the halves of the key, which are kKeys apart.
  static __device__ std::uint32_t sift(const rules_tuple_view& view, const std::uint32_t* halves,
                                       const Prefilter* prefilters) {
    const auto* const filter = reinterpret_cast<const std::uint32_t*>(view.filter);
    const auto factor = static_cast<std::uint32_t>(view.secret[0]);
    std::uint32_t hashes[RULES_TUPLE_GROUP];
    std::uint32_t bits[RULES_TUPLE_GROUP];
#pragma unroll
    for (std::uint32_t i = 0; i < RULES_TUPLE_GROUP; ++i) {
      const Prefilter own = prefilters[i];
      const std::uint64_t product = product_of(*at_byte(halves, own.half) & own.mask, factor);
      hashes[i] = static_cast<std::uint32_t>(product) ^ static_cast<std::uint32_t>(product >> 32);
      bits[i] = filter[own.begin + (hashes[i] >> own.shift)];
    }
    std::uint32_t may_have = 0;
#pragma unroll
    for (std::uint32_t i = RULES_TUPLE_GROUP; i-- > 0;) may_have = twice_and(may_have, has_both(bits[i], hashes[i]));
    return may_have;
  }

 private:
  static constexpr std::uint32_t kKeys = kMostCudaThreads;
  /// Number of subtables, one bit each of a word. With more subtables, a warp rarely reads tables for few of its keys.
  static constexpr std::uint32_t kChunk = 64;
  static constexpr std::uint32_t kGroupWords = (kWords + RULES_GROUP_ROWS) * RULES_TUPLE_GROUP;
  static constexpr std::uint32_t kHalves = 2 * kWords;
  static constexpr std::uint32_t kWarp = 32;

  /// An unfinished key.
  struct Way {
    std::uint32_t key;   ///< index in the tile
    std::uint32_t best;  ///< the winning rule so far
  };

  static __device__ std::uint32_t groups_in_chunk(const rules_walk& walk) {
    return (min(walk.end - walk.at, kChunk) + RULES_TUPLE_GROUP - 1) / RULES_TUPLE_GROUP;
  }

  /// Copies the rows of the chunk. The last group may have rows after the end of the list. Such rows belong to no
  /// subtable, to a newer one or to a removed one, and are safe to read.
  __device__ void load_chunk(const rules_tuple_view& view, const rules_walk& walk) {
    const std::uint64_t* const from = &view.group[rules_group_row(walk.at, 0, kWords)];
    const std::uint32_t words = groups_in_chunk(walk) * kGroupWords;
    for (std::uint32_t i = threadIdx.x; i < words; i += blockDim.x) {
      const std::uint64_t word = from[i];
      (&group_[0][0])[i] = word;
      const std::uint32_t row = i % kGroupWords / RULES_TUPLE_GROUP, lane = i % RULES_TUPLE_GROUP;
      if (row == kWords + RULES_GROUP_PREFILTER) prefilter_[i / kGroupWords * RULES_TUPLE_GROUP + lane] = apart(word);
    }
  }

  static __device__ const std::uint32_t* at_byte(const std::uint32_t* from, std::uint32_t bytes) {
    return reinterpret_cast<const std::uint32_t*>(reinterpret_cast<const char*>(from) + bytes);
  }

  /// For the plain expression, nvcc 13.0 emits a second instruction that adds 0 to the upper half.
  static __device__ std::uint64_t product_of(std::uint32_t one, std::uint32_t other) {
#if defined(__CUDA_ARCH__)
    std::uint64_t product;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(one), "r"(other));
    return product;
#else
    return std::uint64_t{one} * other;
#endif
  }

  /// Returns 2 * `of` + `bit`. The multiply pipe is less busy than the pipe for shifts and logic.
  static __device__ std::uint32_t twice_and(std::uint32_t of, std::uint32_t bit) {
#if defined(__CUDA_ARCH__)
    asm("mad.lo.u32 %0, %0, 2, %1;" : "+r"(of) : "r"(bit));
    return of;
#else
    return 2 * of + bit;
#endif
  }

  /// Returns in the lowest bit whether `bits` has both bits of the hash.
  static __device__ std::uint32_t has_both(std::uint32_t bits, std::uint32_t hash) {
    // The rotation uses only the lowest five bits of the hash.
    return __funnelshift_r(bits, bits, hash) & __funnelshift_r(bits, bits, hash >> 5) & 1;
  }

  /// Returns the subtables of the chunk whose prefilters pass the key, without lanes after the end of the list.
  __device__ std::uint64_t sift_chunk(const rules_tuple_view& view, const rules_walk& walk, std::uint32_t key) const {
    std::uint64_t may_have = 0;
    for (std::uint32_t i = groups_in_chunk(walk); i-- > 0;) {
      may_have =
          may_have << RULES_TUPLE_GROUP | sift(view, &half_[0][key], &prefilter_[std::size_t{i} * RULES_TUPLE_GROUP]);
    }
    const std::uint32_t there = walk.end - walk.at;
    return there < kChunk ? may_have & ((std::uint64_t{1} << there) - 1) : may_have;
  }

  /// Returns the subtables of `prefiltered` whose filters pass the key too.
  __device__ std::uint64_t filter_chunk(const rules_tuple_view& view, std::uint64_t prefiltered,
                                        const std::uint64_t* key) const {
    std::uint64_t may_have = 0;
    for (; prefiltered != 0; prefiltered &= prefiltered - 1) {
      const std::uint32_t at = penumbra_trailing_zeros(prefiltered);
      const std::uint64_t* const own = &group_[at / RULES_TUPLE_GROUP][at % RULES_TUPLE_GROUP];
      const std::uint32_t hash = rules_bloom_hash(view.secret, key, own, RULES_TUPLE_GROUP, kWords);
      const std::uint64_t filter = own[std::size_t{kWords + RULES_GROUP_FILTER} * RULES_TUPLE_GROUP];
      may_have |= std::uint64_t{rules_bloom_may_have(view.filter, filter, hash)} << at;
    }
    return may_have;
  }

  /// Searches the chunk for a key. Returns true if the key is unfinished, otherwise writes its winner.
  __device__ bool search(const rules_tuple_view& view, rules_walk walk, Way& own, std::uint32_t* rules) const {
    const std::uint64_t prefiltered = sift_chunk(view, walk, own.key);
    const std::uint32_t first = walk.at;
    walk.best = own.best;
    std::uint64_t key[kWords];
#pragma unroll
    for (std::uint32_t i = 0; i < kWords; ++i) {
      key[i] = std::uint64_t{half_[2 * i + 1][own.key]} << 32 | half_[2 * i][own.key];
    }
    for (std::uint64_t may_have = filter_chunk(view, prefiltered, key); may_have != 0; may_have &= may_have - 1) {
      walk.at = first + penumbra_trailing_zeros(may_have);
      walk.may_have = 1;  // the subtable there
      std::uint32_t rule = cuckoo_table_find(&view.cuckoo, rules_walk_digest(&view, &walk, key, kWords));
      while (rule != RULES_NONE) rule = rules_walk_take(&view, &walk, rule, key, kWords);
    }
    own.best = walk.best;
    walk.at = first + kChunk;
    const bool goes_on = rules_walk_goes_on(&view, &walk) != 0;
    if (!goes_on) rules[own.key] = own.best;
    return goes_on;
  }

  /// Compacts the unfinished keys and returns their number.
  __device__ std::uint32_t close_ranks(const Way& own, bool goes_on) {
    const std::uint32_t lane = threadIdx.x % kWarp, own_warp = threadIdx.x / kWarp;
    const std::uint32_t of_warp = __ballot_sync(~0U, goes_on);
    if (lane == 0) in_warp_[own_warp] = __popc(of_warp);
    __syncthreads();
    std::uint32_t before = __popc(of_warp & ((1U << lane) - 1)), all = 0;
    for (std::uint32_t warp = 0; warp < blockDim.x / kWarp; ++warp) {
      if (warp < own_warp) before += in_warp_[warp];
      all += in_warp_[warp];
    }
    if (goes_on) way_[before] = own;
    return all;
  }

  /// Writes the winners of `count` keys, at most one per thread of the block.
  template <class Key>
  __device__ void classify(const rules_tuple_view& view, const Key* keys, std::uint32_t* rules, std::uint32_t count) {
    const std::uint32_t thread = threadIdx.x;
    rules_walk walk = rules_walk_begin(&view);
    if (thread < count) {
#pragma unroll
      for (std::uint32_t i = 0; i < kWords; ++i) {
        half_[2 * i][thread] = static_cast<std::uint32_t>(keys[thread].word[i]);
        half_[2 * i + 1][thread] = static_cast<std::uint32_t>(keys[thread].word[i] >> 32);
      }
      way_[thread] = {thread, RULES_NONE};
      if (walk.at >= walk.end) rules[thread] = RULES_NONE;
    }
    std::uint32_t going = count;
    for (; going != 0 && walk.at < walk.end; walk.at += kChunk) {
      load_chunk(view, walk);
      __syncthreads();
      Way own{};
      bool goes_on = thread < going;
      if (goes_on) {
        own = way_[thread];
        goes_on = search(view, walk, own, rules);
      }
      going = close_ranks(own, goes_on);
    }
    __syncthreads();
  }

  alignas(16) std::uint64_t group_[kChunk / RULES_TUPLE_GROUP][kGroupWords];
  Prefilter prefilter_[kChunk];
  std::uint32_t half_[kHalves][kKeys];
  Way way_[kKeys];
  std::uint32_t in_warp_[kKeys / kWarp];
};

__device__ inline void rules_bloom_narrow_tiles(rules_tuple_view view, const rules_narrow_key* key, std::uint32_t* rule,
                                                std::uint32_t n) {
  RulesBloomTile<RULES_NARROW_WORDS>::classify_all(view, key, rule, n);
}

__device__ inline void rules_bloom_wide_tiles(rules_tuple_view view, const rules_key* key, std::uint32_t* rule,
                                              std::uint32_t n) {
  RulesBloomTile<RULES_WORDS>::classify_all(view, key, rule, n);
}

}  // namespace penumbra
