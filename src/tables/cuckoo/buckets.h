// SPDX-License-Identifier: Apache-2.0
//
// One version of a cuckoo table: as many buckets as it was made with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cuckoo.h"
#include "cuckoo.shader.h"
#include "penumbra/huge_memory.h"
#include "penumbra/table_changes.h"

namespace penumbra {

class CuckooTable::Version {
 public:
  /// 2^bits buckets, empty.
  Version(unsigned bits, unsigned value_bits, std::uint64_t seed);

  /// From now on readers may be about and changes are announced.
  void publish_to(Table& table, const Publish& publish);

  /// Whether it was replaced, that is, there.
  bool replace(std::uint64_t digest, std::uint32_t value);
  /// Adds a digest that is not there. False if there is no place for it; then nothing has changed.
  bool add(std::uint64_t digest, std::uint32_t value);
  bool remove(std::uint64_t digest);
  std::uint32_t find(std::uint64_t digest) const;
  void for_each(const std::function<void(std::uint64_t digest, std::uint32_t value)>& visit) const;

  unsigned bits() const { return view_.bits; }
  std::size_t slots() const { return buckets_.size() * CUCKOO_TABLE_SLOTS; }
  std::size_t memory_bytes() const { return buckets_.bytes(); }

 private:
  struct Place {
    std::uint32_t bucket = 0;
    std::uint32_t slot = 0;
  };
  /// A bucket that the search for an empty slot has come to: by moving there what is in `slot` of the bucket before.
  struct Step {
    std::uint32_t bucket = 0;
    std::uint32_t slot = 0;
    std::uint32_t before = 0;  ///< the number of that bucket's step; a root's is its own
  };

  std::uint64_t tag_of(std::uint64_t word) const { return word >> view_.value_bits >> 1; }
  std::uint64_t second_bit() const { return std::uint64_t{1} << view_.value_bits; }
  std::uint32_t value_of(std::uint64_t word) const { return static_cast<std::uint32_t>(word & (second_bit() - 1)); }
  /// The bucket where a word that lies in this one may lie too.
  std::uint32_t other(std::uint32_t bucket, std::uint64_t word) const;
  std::uint32_t first(std::uint64_t digest) const;
  /// A digest as it stands in its first bucket, without a value.
  std::uint64_t word_of(std::uint64_t digest) const { return digest >> view_.bits << 1 << view_.value_bits; }
  std::uint64_t& at(Place place) { return buckets_[place.bucket].slot[place.slot]; }
  std::uint64_t at(Place place) const { return buckets_[place.bucket].slot[place.slot]; }

  std::optional<Place> locate(std::uint64_t digest) const;
  std::optional<std::uint32_t> empty_slot(std::uint32_t bucket) const;
  std::optional<Place> make_room(std::uint64_t digest);
  Place move_along(std::uint32_t last_step, Place empty);
  void put(Place place, std::uint64_t word);
  void clear(Place place);
  void store(std::uint64_t& word, std::uint64_t value);
  void set_mark(Place place, std::uint64_t mark);
  void count_elsewhere(std::uint32_t first_bucket, bool more);
  void announce();

  HugeArray<cuckoo_table_bucket> buckets_;
  alignas(64) std::array<std::uint32_t, 16> moves_{};  ///< the first counts; a line of its own
  const cuckoo_table_view view_;
  Table* table_ = nullptr;
  TableChanges<std::uint64_t> changes_{0};
  std::vector<Step> steps_;  ///< of a search; kept so that there is no allocation
};

}  // namespace penumbra
