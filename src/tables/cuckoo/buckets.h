// SPDX-License-Identifier: Apache-2.0
//
// A version of a cuckoo table with a fixed number of buckets.
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
  /// Makes 2^bits empty buckets.
  Version(unsigned bits, unsigned value_bits, std::uint64_t seed);

  /// Publishes the version to `table`. Readers may then exist, and changes are announced.
  void publish_to(Table& table, const Publish& publish);

  /// Returns true if the digest was present and has the new value.
  bool replace(std::uint64_t digest, std::uint32_t value);
  /// Adds a digest that is not present. Returns false without any change if no slot can be freed.
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
  /// A bucket that the search for an empty slot visits. The entry in `slot` of the bucket before can move to it.
  struct Step {
    std::uint32_t bucket = 0;
    std::uint32_t slot = 0;
    std::uint32_t before = 0;  ///< index of the step before; a root has its own index
  };

  std::uint64_t tag_of(std::uint64_t word) const { return word >> view_.value_bits >> 1; }
  std::uint64_t second_bit() const { return std::uint64_t{1} << view_.value_bits; }
  std::uint32_t value_of(std::uint64_t word) const { return static_cast<std::uint32_t>(word & (second_bit() - 1)); }
  /// Returns the alternative bucket of a word that lies in `bucket`.
  std::uint32_t other(std::uint32_t bucket, std::uint64_t word) const;
  std::uint32_t first(std::uint64_t digest) const;
  /// Returns the word of a digest in its first bucket, with value 0.
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
  alignas(64) std::array<std::uint32_t, 16> moves_{};  ///< element 0 is the count; has its own cache line
  const cuckoo_table_view view_;
  Table* table_ = nullptr;
  TableChanges<std::uint64_t> changes_{0};
  std::vector<Step> steps_;  ///< of a search; a member to avoid allocations
};

}  // namespace penumbra
