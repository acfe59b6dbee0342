// SPDX-License-Identifier: Apache-2.0
//
// Bloom search (rules_bloom.shader.h) for a GPU whose blocks share what they know. A block takes a tile of keys, one a
// thread, and goes through the classes in chunks, whose masks, salts and filters' places it copies into its shared
// memory. After each chunk the keys that are done, because no class to come ranks higher, leave, and the others close
// ranks: a warp has 32 keys to work on until the tile has no more. In the one source each thread waits for its warp's
// last key. (GSwitch, section IV.C, gives a block one class and all keys, so that no key is ever done.)
//
// It asks the same filters and tables in the same order, and some that the one source has no need to ask, since it
// looks at bounds for each chunk only; so answers are the same ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shaders/cuda_form.h"
#include "shaders/rules_tuple/rules_bloom.shader.h"

namespace penumbra {

template <std::uint32_t kWords>
class RulesBloomTile {
 public:
  /// Writes the winners of all keys that this row of blocks has.
  template <class Key>
  static __device__ void classify_all(const rules_tuple_view& view, const Key* keys, std::uint32_t* rules,
                                      std::uint32_t n) {
    __shared__ RulesBloomTile tile;
    const std::uint32_t step = gridDim.x * blockDim.x;
    for (std::uint32_t first = blockIdx.x * blockDim.x; first < n; first += step) {
      tile.classify(view, keys + first, rules + first, min(n - first, blockDim.x));
    }
  }

  /// For which classes of a group, a bit each, their filters leave it open that they have a rule.
  static __device__ std::uint32_t ask(const rules_tuple_view& view, const std::uint64_t* key,
                                      const std::uint64_t* group) {
    const auto* const rows = reinterpret_cast<const ulonglong2*>(group);
    std::uint32_t hashes[RULES_TUPLE_GROUP];
    std::uint64_t words[RULES_TUPLE_GROUP];
#pragma unroll
    for (std::size_t pair = 0; pair < kPairs; ++pair) {
      hash_pair(view, key, rows + pair, &hashes[pair * kPair]);
      const ulonglong2 filters = rows[(kWords + 1) * kPairs + pair];
#pragma unroll
      for (std::size_t i = pair * kPair; i < (pair + 1) * kPair; ++i) {
        const std::uint64_t filter = i % kPair == 0 ? filters.x : filters.y;
        const auto begin = static_cast<std::uint32_t>(filter >> RULES_BLOOM_BEGIN);
        words[i] = view.filter[begin + __umulhi(hashes[i], rules_bloom_words(filter))];
      }
    }
    std::uint32_t may_have = 0;
#pragma unroll
    for (std::uint32_t i = RULES_TUPLE_GROUP; i-- > 0;) may_have = twice_and(may_have, has_all(words[i], hashes[i]));
    return may_have;
  }

 private:
  static constexpr std::uint32_t kKeys = kMostCudaThreads;
  /// Classes, a bit each of a word. The more they are, the seldomer a warp goes to tables for few of its keys.
  static constexpr std::uint32_t kChunk = 64;
  static constexpr std::uint32_t kGroupWords = (kWords + RULES_GROUP_ROWS) * RULES_TUPLE_GROUP;
  static constexpr std::size_t kPair = 2;  ///< classes of which one load gets a word each
  static constexpr std::size_t kPairs = RULES_TUPLE_GROUP / kPair;
  static constexpr std::uint32_t kFolds =
      kWords < std::uint32_t{RULES_BLOOM_FOLDS} ? kWords : std::uint32_t{RULES_BLOOM_FOLDS};
  static constexpr std::uint32_t kWarp = 32;

  /// A key that goes on.
  struct Way {
    std::uint32_t key;   ///< of the tile
    std::uint32_t best;  ///< the rule that wins so far
  };

  static __device__ std::uint32_t groups_in_chunk(const rules_walk& walk) {
    return (min(walk.end - walk.at, kChunk) + RULES_TUPLE_GROUP - 1) / RULES_TUPLE_GROUP;
  }

  /// Copies the chunk's rows. Those behind the list's end, in its last group, are of no class, or of one that has come
  /// since or has gone; all can be asked.
  __device__ void load_chunk(const rules_tuple_view& view, const rules_walk& walk) {
    const std::uint64_t* const from = &view.group[rules_group_row(walk.at, 0, kWords)];
    const std::uint32_t words = groups_in_chunk(walk) * kGroupWords;
    for (std::uint32_t i = threadIdx.x; i < words; i += blockDim.x) (&group_[0][0])[i] = from[i];
  }

  /// sum + of * with. Of the plain expression nvcc 13.0 makes a second instruction, which adds 0 to the upper half.
  static __device__ std::uint64_t add_product(std::uint64_t sum, std::uint32_t of, std::uint32_t with) {
#if defined(__CUDA_ARCH__)
    asm("mad.wide.u32 %0, %1, %2, %0;" : "+l"(sum) : "r"(of), "r"(with));
    return sum;
#else
    return sum + std::uint64_t{of} * with;
#endif
  }

  /// 2 * `of` + `bit`, by the pipe of products, which has less to do than that of shifts and of and, or, add.
  static __device__ std::uint32_t twice_and(std::uint32_t of, std::uint32_t bit) {
#if defined(__CUDA_ARCH__)
    asm("mad.lo.u32 %0, %0, 2, %1;" : "+r"(of) : "r"(bit));
    return of;
#else
    return 2 * of + bit;
#endif
  }

  /// As rules_bloom_hash().
  static __device__ std::uint32_t hash(const std::uint64_t* folded) {
    std::uint64_t sum = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < kFolds; ++i) {
      sum = add_product(sum, static_cast<std::uint32_t>(folded[i]), static_cast<std::uint32_t>(folded[i] >> 32));
    }
    return static_cast<std::uint32_t>(sum) ^ static_cast<std::uint32_t>(sum >> 32);
  }

  /// The hashes of a key under the masks of two classes.
  static __device__ void hash_pair(const rules_tuple_view& view, const std::uint64_t* key, const ulonglong2* rows,
                                   std::uint32_t* hashes) {
    std::uint64_t one[kFolds], other[kFolds];
#pragma unroll
    for (std::uint32_t i = 0; i < kFolds; ++i) one[i] = other[i] = view.secret[i];
#pragma unroll
    for (std::uint32_t word = 0; word < kWords; ++word) {
      const ulonglong2 mask = rows[word * kPairs];
      one[word % RULES_BLOOM_FOLDS] ^= key[word] & mask.x;
      other[word % RULES_BLOOM_FOLDS] ^= key[word] & mask.y;
    }
    hashes[0] = hash(one);
    hashes[1] = hash(other);
  }

  /// Whether the word of a value of that hash has all its bits, as the lowest bit.
  static __device__ std::uint32_t has_all(std::uint64_t word, std::uint32_t hash) {
    const auto lower = static_cast<std::uint32_t>(word), upper = static_cast<std::uint32_t>(word >> 32);
    // Rotating takes five bits of the hash for what they are.
    return __funnelshift_r(lower, lower, hash) & __funnelshift_r(lower, lower, hash >> 5) &
           __funnelshift_r(upper, upper, hash >> 10) & __funnelshift_r(upper, upper, hash >> 15) & 1;
  }

  /// The same of the chunk, without the bits of lanes behind the end of the list.
  __device__ std::uint64_t ask_all(const rules_tuple_view& view, const rules_walk& walk,
                                   const std::uint64_t* key) const {
    std::uint64_t may_have = 0;
    for (std::uint32_t i = groups_in_chunk(walk); i-- > 0;) {
      may_have = may_have << RULES_TUPLE_GROUP | ask(view, key, group_[i]);
    }
    const std::uint32_t there = walk.end - walk.at;
    return there < kChunk ? may_have & ((std::uint64_t{1} << there) - 1) : may_have;
  }

  /// Takes a key through the chunk. Whether it goes on; if it does not its winner is written.
  __device__ bool search(const rules_tuple_view& view, rules_walk walk, Way& own, std::uint32_t* rules) const {
    std::uint64_t key[kWords];
#pragma unroll
    for (std::uint32_t i = 0; i < kWords; ++i) key[i] = word_[i][own.key];
    const std::uint32_t first = walk.at;
    walk.best = own.best;
    for (std::uint64_t may_have = ask_all(view, walk, key); may_have != 0; may_have &= may_have - 1) {
      walk.at = first + penumbra_trailing_zeros(may_have);
      walk.may_have = 1;  // the class there
      std::uint32_t rule = cuckoo_table_find(&view.cuckoo, rules_walk_digest(&view, &walk, key, kWords));
      while (rule != RULES_NONE) rule = rules_walk_take(&view, &walk, rule, key, kWords);
    }
    own.best = walk.best;
    walk.at = first + kChunk;
    const bool goes_on = rules_walk_goes_on(&view, &walk) != 0;
    if (!goes_on) rules[own.key] = own.best;
    return goes_on;
  }

  /// Those that go on close ranks; returns how many they are.
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

  /// Writes the winners of `count` keys, at most as many as the block has threads.
  template <class Key>
  __device__ void classify(const rules_tuple_view& view, const Key* keys, std::uint32_t* rules, std::uint32_t count) {
    const std::uint32_t thread = threadIdx.x;
    rules_walk walk = rules_walk_begin(&view);
    if (thread < count) {
#pragma unroll
      for (std::uint32_t i = 0; i < kWords; ++i) word_[i][thread] = keys[thread].word[i];
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
  std::uint64_t word_[kWords][kKeys];
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
