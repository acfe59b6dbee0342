// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "base/random.h"
#include "gopt/footprint.h"
#include "gopt/workload.h"
#include "memcached.gopt.h"
#include "penumbra/huge_memory.h"

namespace penumbra::bench {
namespace {

/// Size of a slab's chunk in memcached for items with a short value; chunks are not aligned to cache lines.
constexpr std::size_t kChunk = 120;
constexpr std::uint32_t kKeyBytes = 24;
/// memcached doubles the table when there are 1.5 items per bucket.
constexpr std::uint64_t kItemsOfFourBuckets = 5;

class Memcached final : public Workload {
 public:
  Memcached(std::size_t bytes, std::uint32_t item_count, std::uint64_t seed)
      : Workload("memcached", item_count),
        seed_(seed),
        buckets_(std::bit_floor(bytes / (sizeof(void*) + kChunk * kItemsOfFourBuckets / 4))),
        stored_(static_cast<std::uint32_t>(buckets_ * kItemsOfFourBuckets / 4)),
        memory_(buckets_ * sizeof(void*) + stored_ * kChunk) {
    view_ = {bucket(0), buckets_ - 1};
    for (std::uint32_t number = 0; number < stored_; ++number) store(number);
    ask(Random(seed + 1));
    input = fmt::format(
        "{} items in {} buckets, keys of {} bytes; {} gets of random ones, one of ten for a key that is not there",
        stored_, buckets_, kKeyBytes, items);
    table = std::as_bytes(std::span(memory_.data(), memory_.size()));
    ways.push_back({"plain loop", {1}, [this](std::uint32_t first, std::uint32_t n, std::uint32_t /*size*/) {
                      memcached_find(view_, &keys_[first], found_from<const memcached_item*>(first), n);
                    }});
    ways.push_back({"gopt", kGoptWidths, [this](std::uint32_t first, std::uint32_t n, std::uint32_t size) {
                      memcached_find_gopt(view_, &keys_[first], found_from<const memcached_item*>(first), n, size);
                    }});
  }

 private:
  memcached_item** bucket(std::uint64_t number) { return reinterpret_cast<memcached_item**>(memory_.data()) + number; }
  memcached_item* stored(std::uint32_t number) {
    return reinterpret_cast<memcached_item*>(memory_.data() + buckets_ * sizeof(void*) + number * kChunk);
  }
  /// Returns the key of item `number`, 24 characters.
  std::string text(std::uint32_t number) const { return fmt::format("user:{:016x}:id", Random::mixed(seed_ + number)); }
  static std::uint32_t hash(const std::string& text) {
    std::uint64_t mixed = 0;
    for (std::size_t at = 0; at < kKeyBytes; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, text.data() + at, sizeof word);
      mixed = Random::mixed(mixed ^ word);
    }
    return static_cast<std::uint32_t>(mixed);
  }

  void store(std::uint32_t number) {
    const std::string key = text(number);
    memcached_item** const head = bucket(hash(key) & view_.mask);
    memcached_item* const item = stored(number);
    item->next = *head;
    item->key_bytes = kKeyBytes;
    std::memcpy(reinterpret_cast<char*>(item) + MEMCACHED_KEY, key.data(), kKeyBytes);
    *head = item;
  }

  /// Chooses the keys, and counts the cache lines that a search reads.
  void ask(Random random) {
    std::vector<const memcached_item*> answers(items);
    Footprint footprint(memory_.bytes());
    texts_.resize(std::size_t{items} * kKeyBytes);
    keys_.resize(items);
    for (std::uint32_t i = 0; i < items; ++i) {
      const std::uint32_t number = random.below(stored_);
      const bool is_there = random.below(10) > 0;
      const std::string key = text(is_there ? number : stored_ + number);
      answers[i] = is_there ? stored(number) : nullptr;
      std::memcpy(&texts_[std::size_t{i} * kKeyBytes], key.data(), kKeyBytes);
      keys_[i] = {&texts_[std::size_t{i} * kKeyBytes], kKeyBytes, hash(key)};
      const std::uint64_t at = keys_[i].hash & view_.mask;
      footprint.add(at * sizeof(void*));
      for (const memcached_item* item = *bucket(at); item != nullptr; item = item->next) {
        add_item(item, footprint);
        if (item == answers[i]) break;
      }
    }
    accesses = static_cast<double>(footprint.accesses()) / items;
    set_right(answers);
  }
  /// Adds an item's header, and the begin of its key if that is in another line.
  void add_item(const memcached_item* item, Footprint& footprint) const {
    constexpr std::size_t kLine = 64;
    const auto offset = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(item) - memory_.data());
    footprint.add(offset);
    if (offset / kLine != (offset + MEMCACHED_KEY) / kLine) footprint.add(offset + MEMCACHED_KEY);
  }

  std::uint64_t seed_;
  std::uint64_t buckets_;
  std::uint32_t stored_;
  HugeArray<std::byte> memory_;
  std::vector<char> texts_;
  std::vector<memcached_key> keys_;
  memcached_view view_{};
};

}  // namespace

std::unique_ptr<Workload> make_memcached(std::size_t bytes, std::uint32_t items, std::uint64_t seed) {
  return std::make_unique<Memcached>(bytes, items, seed);
}

}  // namespace penumbra::bench
