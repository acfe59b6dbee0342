// SPDX-License-Identifier: Apache-2.0
//
// A worker's cache of answers by whole keys, asked before the shader. An entry has the state of the table that decided
// its lookup. The entry counts only while that state is the current one, so that no answer is ever out of date.
// (PacketShader asks its exact table before its wildcard table: S. Han et al., SIGCOMM 2010, section 6.2.3.)
#pragma once

#include <nmmintrin.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "penumbra/huge_memory.h"
#include "penumbra/prefetch.h"

namespace penumbra::rule_list {

inline constexpr std::size_t kMostCacheEntries = std::size_t{1} << 20;

/// `Key` consists of 64-bit words without padding.
template <class Key>
class alignas(64) ExactCache {
  static_assert(std::has_unique_object_representations_v<Key> && sizeof(Key) % sizeof(std::uint64_t) == 0);

 public:
  /// Makes a cache of at least `entries` entries, or none for 0.
  ExactCache(std::size_t entries, std::uint32_t seed)
      : seed_(seed), mask_(entries == 0 ? 0 : std::bit_ceil(entries) - 1), entries_(entries == 0 ? 0 : mask_ + 1) {}
  /// Touches the memory, so that it is near the worker whose thread calls this function before any other.
  void touch() noexcept {
    for (Entry& each : entries_) std::atomic_ref(each.generation).store(0, std::memory_order_relaxed);
  }

  /// Begins lookups in `state` of the table at `now_ms`. States restart from 0 after 2^32 commits, which takes longer
  /// than kPauseMs. Forgets all entries if that may have happened since the last call.
  void begin(std::uint32_t state, std::uint64_t now_ms) noexcept {
    constexpr std::uint64_t kPauseMs = 60'000;
    if (state < state_ || now_ms - last_ms_ > kPauseMs) ++generation_;
    state_ = state;
    last_ms_ = now_ms;
  }
  /// Returns true if lookups are worth their cost. After a window with fewer than half hits, the cache rests for some
  /// windows.
  bool is_on() noexcept {
    if (entries_.size() == 0) return false;
    if (rest_ == 0) return true;
    --rest_;
    return false;
  }
  std::uint32_t hash(const Key& key) const noexcept {
    std::uint64_t crc = seed_;
    for (const std::uint64_t word : words_of(key)) crc = _mm_crc32_u64(crc, word);
    return static_cast<std::uint32_t>((crc * 0x9E3779B97F4A7C15U) >> 32);
  }
  void prefetch(std::uint32_t hash) const noexcept {
    constexpr std::size_t kLine = 64;
    const auto* const entry = reinterpret_cast<const std::byte*>(&entries_[hash & mask_]);
    for (std::size_t at = 0; at < sizeof(Entry); at += kLine) prefetch_line(entry + at);
  }
  /// Returns the rule of a key in the current state.
  std::optional<std::uint32_t> find(std::uint32_t hash, const Key& key) noexcept {
    const Entry& entry = entries_[hash & mask_];
    const bool is_hit =
        entry.generation == generation_ && entry.state == state_ && words_of(entry.key) == words_of(key);
    count(is_hit);
    return is_hit ? std::optional(entry.rule) : std::nullopt;
  }
  /// Stores the answer to a lookup that `state` decided.
  void put(std::uint32_t hash, const Key& key, std::uint32_t rule, std::uint32_t state) noexcept {
    if (entries_.size() == 0) return;
    entries_[hash & mask_] = {.key = key, .rule = rule, .state = state, .generation = generation_};
  }

 private:
  using Words = std::array<std::uint64_t, sizeof(Key) / sizeof(std::uint64_t)>;
  struct alignas(std::bit_ceil(sizeof(Key) + 2 * sizeof(std::uint64_t))) Entry {
    Key key;
    std::uint32_t rule, state;
    std::uint64_t generation;  ///< 0: empty
  };

  static Words words_of(const Key& key) noexcept { return std::bit_cast<Words>(key); }
  void count(bool is_hit) noexcept {
    constexpr std::uint32_t kWindow = 4096, kRest = 256;
    hits_ += is_hit ? 1 : 0;
    if (++lookups_ < kWindow) return;
    if (2 * hits_ < kWindow) rest_ = kRest;
    lookups_ = hits_ = 0;
  }

  const std::uint32_t seed_;
  const std::size_t mask_;
  HugeArray<Entry> entries_;
  std::uint64_t generation_ = 1;
  std::uint64_t last_ms_ = 0;
  std::uint32_t state_ = 0;
  std::uint32_t lookups_ = 0, hits_ = 0;  ///< of the current window
  std::uint32_t rest_ = 0;                ///< number of further chunks that are not looked up
};

}  // namespace penumbra::rule_list
