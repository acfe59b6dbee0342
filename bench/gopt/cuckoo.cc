// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "base/random.h"
#include "cuckoo.gopt.h"
#include "gopt/comparators/amac.h"
#include "gopt/comparators/coroutines.h"
#include "gopt/comparators/group_prefetch.h"
#include "gopt/workload.h"
#include "penumbra/huge_memory.h"
#include "penumbra/invertible.h"

namespace penumbra::bench {
namespace {

/// Returns the key with this hash.
std::uint32_t key_of(std::uint32_t hash) {
  static const std::uint32_t kSecond = inverse(0x85EBCA77U), kFirst = inverse(0x9E3779B1U);
  const std::uint32_t key = unshifted(unshifted(hash, 16) * kSecond, 15) * kFirst;
  return unshifted(key, 16);
}

/// A full cuckoo table: seven of eight slots are in use, and half of the keys are in their second bucket. Insertion
/// would take minutes, so the constructor computes a key for each slot instead. The upper bits of a hash, the tag, can
/// be chosen freely; the lower bits follow from the bucket.
class Cuckoo final : public Workload {
 public:
  Cuckoo(std::size_t bytes, std::uint32_t item_count, std::uint64_t seed)
      : Workload("cuckoo", item_count), buckets_(std::bit_floor(bytes / sizeof(cuckoo_bucket))) {
    view_ = {buckets_.data(), static_cast<std::uint32_t>(std::countr_zero(buckets_.size()))};
    if (view_.bits > 28) throw std::invalid_argument("a cuckoo table of 32-bit keys has at most 2^28 buckets");
    Random random(seed);
    for (std::uint32_t bucket = 0; bucket < buckets_.size(); ++bucket) fill(bucket, random);
    std::vector<std::uint32_t> answers(items);
    std::uint64_t buckets_read = 0;
    for (std::uint32_t& answer : answers) {
      const std::uint32_t bucket = random.below(static_cast<std::uint32_t>(buckets_.size()));
      const std::uint32_t slot = random.below(CUCKOO_SLOTS);
      const bool is_there = slot != kEmpty;
      keys_.push_back(is_there ? buckets_[bucket].key[slot] : absent_key(bucket));
      answer = is_there ? buckets_[bucket].value[slot] : static_cast<std::uint32_t>(CUCKOO_NOT_FOUND);
      buckets_read += is_there && slot % 2 == 0 ? 1 : 2;
    }
    accesses = static_cast<double>(buckets_read) / items;
    input = fmt::format(
        "{} buckets, {} keys, half of them in their second bucket; {} random keys, one of eight of them not there",
        buckets_.size(), buckets_.size() * kEmpty, items);
    table = std::as_bytes(std::span(buckets_.data(), buckets_.size()));
    set_right(answers);
    add_ways();
  }

 private:
  static constexpr std::uint32_t kEmpty = CUCKOO_SLOTS - 1;  ///< The slot without a key.

  /// Returns the key with this tag whose first or second bucket is `bucket`. A tag's lower bits are the slot, so that
  /// no key occurs twice.
  std::uint32_t key_for(std::uint32_t bucket, std::uint32_t tag, bool second) const {
    const std::uint32_t upper = tag << view_.bits;
    return key_of(upper | (second ? cuckoo_second(view_, upper | bucket) : bucket));
  }
  void fill(std::uint32_t bucket, Random& random) {
    const auto tags = static_cast<std::uint32_t>((std::uint64_t{1} << (32 - view_.bits)) / CUCKOO_SLOTS);
    for (std::uint32_t slot = 0; slot < kEmpty; ++slot) {
      const std::uint32_t tag = random.below(tags) * CUCKOO_SLOTS + slot;
      buckets_[bucket].key[slot] = key_for(bucket, tag, slot % 2 == 1);
      buckets_[bucket].value[slot] = static_cast<std::uint32_t>(random.next()) | 1;
    }
  }
  std::uint32_t absent_key(std::uint32_t bucket) const { return key_for(bucket, kEmpty, false); }

  void add_ways() {
    ways.push_back({"plain loop", {1}, [this](std::uint32_t first, std::uint32_t n, std::uint32_t /*size*/) {
                      cuckoo_find(view_, &keys_[first], found_from<std::uint32_t>(first), n);
                    }});
    ways.push_back({"gopt", kGoptWidths, [this](std::uint32_t first, std::uint32_t n, std::uint32_t size) {
                      cuckoo_find_gopt(view_, &keys_[first], found_from<std::uint32_t>(first), n, size);
                    }});
    ways.push_back(by_group_prefetching(
        [this](std::uint32_t first) { return CuckooGroups{view_, &keys_[first], found_from<std::uint32_t>(first)}; }));
    ways.push_back(by_amac(
        [this](std::uint32_t first) { return CuckooAmac{view_, &keys_[first], found_from<std::uint32_t>(first)}; }));
    ways.push_back(by_coroutines([this](std::uint32_t first) {
      return CuckooCoroutines{view_, &keys_[first], found_from<std::uint32_t>(first)};
    }));
  }

  HugeArray<cuckoo_bucket> buckets_;
  std::vector<std::uint32_t> keys_;
  cuckoo_view view_{};
};

}  // namespace

std::unique_ptr<Workload> make_cuckoo(std::size_t bytes, std::uint32_t items, std::uint64_t seed) {
  return std::make_unique<Cuckoo>(bytes, items, seed);
}

}  // namespace penumbra::bench
