// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "rivals/huge_heap.h"

struct rte_hash;

namespace penumbra::bench {

/// DPDK's rte_hash, a cuckoo table, with keys of any fixed size, looked up in bulk with precomputed hashes, which is
/// its fastest way.
class RteHash {
 public:
  static constexpr std::size_t kMostAtOnce = 64;

  /// Makes an empty table for `keys` keys. Throws std::runtime_error.
  RteHash(HugeHeap& heap, std::size_t keys, std::uint32_t key_bytes);
  RteHash(const RteHash&) = delete;
  RteHash& operator=(const RteHash&) = delete;
  ~RteHash();

  /// Adds a key; `value` must not be 0. Throws std::runtime_error if there is no room.
  void insert(const void* key, std::uint64_t value);
  std::uint32_t hash(const void* key) const;
  /// Writes the values of up to kMostAtOnce keys by their hashes; 0 for absent keys.
  void find(const void* const* keys, const std::uint32_t* hashes, std::size_t count, std::uint64_t* values) const;

 private:
  rte_hash* table_;
};

}  // namespace penumbra::bench
