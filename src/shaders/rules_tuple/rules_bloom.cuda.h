// SPDX-License-Identifier: Apache-2.0
//
// Bloom search (rules_bloom.shader.h) for a GPU whose blocks share what they know. A block takes a tile of keys, one a
// thread, and goes through the classes in chunks, whose masks and filters it copies into its shared memory: there 32
// threads have 32 words of a filter in a few clocks, where the cache behind it gives them no more than it has ports,
// and was what everything waited for. Keys that a filter lets through are put down, and after the chunk as many threads
// as there are of these ask the table, so that no warp goes there for the sake of one key.
//
// Then keys that are done, because no class to come ranks higher, leave, and the others close ranks: a warp has 32 keys
// to work on until the tile has no more. In the one source each thread waits for its warp's last key, which is nearly
// the end of the list. (GSwitch, section IV.C, gives a block one class and all keys, so that no key is ever done.)
//
// It asks the same filters and tables in the same order, so answers are the same ones.
#pragma once

#include <cstdint>

#include "shaders/rules_tuple/rules_bloom.shader.h"

namespace penumbra {

template <std::uint32_t kWords>
class RulesBloomTile {
 public:
  /// Writes the winners of all keys that this row of blocks has. For all threads of a block, 32 to 256 in whole warps.
  template <class Key>
  static __device__ void classify_all(const rules_tuple_view& view, const Key* keys, std::uint32_t* rules,
                                      std::uint32_t n) {
    __shared__ RulesBloomTile tile;
    const std::uint32_t step = gridDim.x * blockDim.x;
    for (std::uint32_t first = blockIdx.x * blockDim.x; first < n; first += step) {
      tile.classify(view, keys + first, rules + first, min(n - first, blockDim.x));
    }
  }

 private:
  static constexpr std::uint32_t kKeys = 256;
  static constexpr std::uint32_t kChunk = 16;         ///< classes
  static constexpr std::uint32_t kFilterWords = 128;  ///< larger filters are asked where they are
  static constexpr std::uint32_t kGroups = kChunk / RULES_TUPLE_GROUP;
  static constexpr std::uint32_t kGroupWords = (kWords + RULES_GROUP_ROWS) * RULES_TUPLE_GROUP;
  static constexpr std::uint32_t kPair = 2;  ///< classes of which one load gets a word each
  static constexpr std::uint32_t kPairs = RULES_TUPLE_GROUP / kPair;
  static constexpr std::uint32_t kWarp = 32;

  /// Copies the rows of the chunk that begins at the place `at` of the list. Rows behind its end are of no class, or of
  /// one that has come since; both can be asked.
  __device__ void load_rows(const rules_tuple_view& view, const rules_walk& walk, std::uint32_t at, unsigned half) {
    if (at >= walk.end) return;
    const std::uint64_t* const from = &view.group[rules_group_row(at, 0, kWords)];
    const std::uint32_t groups = (min(walk.end - at, kChunk) + RULES_TUPLE_GROUP - 1) / RULES_TUPLE_GROUP;
    for (std::uint32_t i = threadIdx.x; i < groups * kGroupWords; i += blockDim.x) (&group_[half][0][0])[i] = from[i];
  }

  /// Copies the filters of the chunk whose rows are there, a warp a class.
  __device__ void load_filters(const rules_tuple_view& view, std::uint32_t classes, unsigned half) {
    const std::uint32_t lane = threadIdx.x % kWarp;
    for (std::uint32_t i = threadIdx.x / kWarp; i < classes; i += blockDim.x / kWarp) {
      const std::uint64_t filter =
          group_[half][i / RULES_TUPLE_GROUP][(kWords + 1) * RULES_TUPLE_GROUP + i % RULES_TUPLE_GROUP];
      const std::uint64_t* const from = &view.filter[filter >> RULES_BLOOM_BEGIN];
      const std::uint32_t bits = rules_bloom_bits(filter);
      if (bits >= kWarp || 1U << bits > kFilterWords) {
        if (lane == 0) atomicOr(&elsewhere_, 1U << i);
        continue;
      }
#pragma unroll
      for (std::uint32_t word = 0; word < kFilterWords; word += kWarp) {
        if (word + lane < 1U << bits) filter_[i][word + lane] = from[word + lane];
      }
    }
  }

  /// The upper halves of the hashes of a key under the masks of two classes.
  static __device__ void hash_pair(const rules_tuple_view& view, const std::uint64_t* key, const ulonglong2* rows,
                                   std::uint32_t* hash) {
    const ulonglong2 salt = rows[kWords * kPairs];
    std::uint64_t one = salt.x, other = salt.y;
#pragma unroll
    for (std::uint32_t word = 0; word < kWords; ++word) {
      const ulonglong2 mask = rows[word * kPairs];
      const auto product = [&](std::uint64_t masked) {
        const std::uint32_t lower = static_cast<std::uint32_t>(masked) + static_cast<std::uint32_t>(view.secret[word]);
        const std::uint32_t upper =
            static_cast<std::uint32_t>(masked >> 32) + static_cast<std::uint32_t>(view.secret[word] >> 32);
        return std::uint64_t{lower} * upper;
      };
      one += product(key[word] & mask.x);
      other += product(key[word] & mask.y);
    }
    hash[0] = static_cast<std::uint32_t>(one * RULES_TUPLE_FACTOR >> 32);
    hash[1] = static_cast<std::uint32_t>(other * RULES_TUPLE_FACTOR >> 32);
  }

  /// For which classes of a group, a bit each, their filters leave it open that they have a rule.
  template <bool kAreAllHere>
  __device__ std::uint32_t ask(const rules_tuple_view& view, const std::uint64_t* key, unsigned half,
                               std::uint32_t group) const {
    const auto* const rows = reinterpret_cast<const ulonglong2*>(group_[half][group]);
    std::uint32_t hash[RULES_TUPLE_GROUP], last[RULES_TUPLE_GROUP];
    std::uint64_t bits[RULES_TUPLE_GROUP];
#pragma unroll
    for (std::uint32_t pair = 0; pair < kPairs; ++pair) {
      hash_pair(view, key, rows + pair, &hash[pair * kPair]);
      const ulonglong2 filters = rows[(kWords + 1) * kPairs + pair];
#pragma unroll
      for (std::uint32_t i = pair * kPair; i < (pair + 1) * kPair; ++i) {
        const std::uint64_t filter = i % kPair == 0 ? filters.x : filters.y;
        const std::uint32_t number = group * RULES_TUPLE_GROUP + i;
        // A filter of one word takes no bit of the hash: a shift by 32, which this gives 0 for.
        const std::uint32_t place = __funnelshift_rc(hash[i], 0, 32 - rules_bloom_bits(filter));
        if (kAreAllHere || (elsewhere_ >> number & 1) == 0) {
          bits[i] = filter_[number][place];
        } else {
          bits[i] = view.filter[(filter >> RULES_BLOOM_BEGIN) + place];
        }
        last[i] = static_cast<std::uint32_t>(filter) >> RULES_BLOOM_LAST;
      }
    }
    std::uint32_t may_have = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < RULES_TUPLE_GROUP; ++i) {
      const auto has = [&](std::uint32_t shift) {
        return static_cast<std::uint32_t>(bits[i] >> (hash[i] >> (shift & 63) & 63));
      };
      may_have |= (has(0) & has(6) & has(12) & has(last[i]) & 1) << i;
    }
    return may_have;
  }

  /// For which classes of the chunk.
  __device__ std::uint32_t ask_all(const rules_tuple_view& view, const rules_walk& walk, std::uint32_t number,
                                   unsigned half) const {
    std::uint64_t key[kWords];
#pragma unroll
    for (std::uint32_t i = 0; i < kWords; ++i) key[i] = word_[i][number];
    std::uint32_t may_have = 0;
    for (std::uint32_t group = 0; group < kGroups && walk.at + group * RULES_TUPLE_GROUP < walk.end; ++group) {
      const std::uint32_t in_group =
          elsewhere_ == 0 ? ask<true>(view, key, half, group) : ask<false>(view, key, half, group);
      may_have |= in_group << (group * RULES_TUPLE_GROUP);
    }
    return rules_walk_there(&walk, may_have);
  }

  /// Asks the table for a key, of the classes of the chunk that may have it.
  __device__ void look_up(const rules_tuple_view& view, rules_walk walk, std::uint32_t candidate) {
    const std::uint32_t number = candidate % kKeys;
    std::uint64_t key[kWords];
#pragma unroll
    for (std::uint32_t i = 0; i < kWords; ++i) key[i] = word_[i][number];
    walk.best = best_[number];
    for (walk.may_have = candidate / kKeys; walk.may_have != 0; walk.may_have &= walk.may_have - 1) {
      std::uint32_t rule = cuckoo_table_find(&view.cuckoo, rules_walk_digest(&view, &walk, key, kWords));
      while (rule != RULES_NONE) rule = rules_walk_take(&view, &walk, rule, key, kWords);
    }
    best_[number] = walk.best;
    rank_[number] = view.record[walk.best].rank;
  }

  /// Of the first `going` places, those whose key goes on close ranks; returns how many there are.
  __device__ std::uint32_t close_ranks(std::uint32_t number, bool goes_on) {
    const std::uint32_t lane = threadIdx.x % kWarp, own_warp = threadIdx.x / kWarp;
    const std::uint32_t of_warp = __ballot_sync(~0U, goes_on);
    if (lane == 0) in_warp_[own_warp] = __popc(of_warp);
    __syncthreads();
    std::uint32_t before = __popc(of_warp & ((1U << lane) - 1)), all = 0;
    for (std::uint32_t warp = 0; warp < blockDim.x / kWarp; ++warp) {
      if (warp < own_warp) before += in_warp_[warp];
      all += in_warp_[warp];
    }
    if (goes_on) going_[before] = static_cast<std::uint16_t>(number);
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
      best_[thread] = RULES_NONE;
      rank_[thread] = 0;
      going_[thread] = static_cast<std::uint16_t>(thread);
      rules[thread] = RULES_NONE;
    }
    load_rows(view, walk, walk.at, 0);
    std::uint32_t going = count;
    for (unsigned half = 0; going != 0 && walk.at < walk.end; walk.at += kChunk, half ^= 1) {
      if (thread == 0) candidates_ = elsewhere_ = 0;
      __syncthreads();
      const std::uint32_t next = walk.at + kChunk;
      load_filters(view, min(walk.end - walk.at, kChunk), half);
      load_rows(view, walk, next, half ^ 1);
      const std::uint64_t bound = next < walk.end ? view.classes[next].bound : 0;
      __syncthreads();
      const std::uint32_t number = thread < going ? going_[thread] : 0;
      const std::uint32_t may_have = thread < going ? ask_all(view, walk, number, half) : 0;
      if (may_have != 0) candidate_[atomicAdd(&candidates_, 1U)] = may_have * kKeys + number;
      __syncthreads();
      if (thread < candidates_) look_up(view, walk, candidate_[thread]);
      __syncthreads();
      const bool goes_on = thread < going && bound > rank_[number];
      if (thread < going && !goes_on) rules[number] = best_[number];
      going = close_ranks(number, goes_on);
    }
    __syncthreads();
  }

  alignas(16) std::uint64_t group_[2][kGroups][kGroupWords];  ///< of this chunk and of the next one
  std::uint64_t filter_[kChunk][kFilterWords];
  std::uint64_t word_[kWords][kKeys];
  std::uint64_t rank_[kKeys];  ///< of the best rule
  std::uint32_t best_[kKeys];  ///< the rule that wins so far
  std::uint16_t going_[kKeys];
  std::uint32_t candidate_[kKeys];  ///< the classes that may have it, a bit each, and the key
  std::uint32_t in_warp_[kKeys / kWarp];
  std::uint32_t candidates_;
  std::uint32_t elsewhere_;  ///< classes whose filters are too large, a bit each
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
