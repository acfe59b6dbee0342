// SPDX-License-Identifier: Apache-2.0
//
// The owner of a cuckoo table: digests with values in; shaders look them up by cuckoo_table_find (cuckoo.shader.h,
// which also says why a reader misses nothing while digests are moved).
//
// A bucket that is full gives a slot free by moving what is in it, along the shortest path that there is to an empty
// slot (breadth first; MemC3: Fan, Andersen, Kaminsky, NSDI 2013), the last one first. When there is no path the table
// grows: a version of twice the buckets is filled beside the old one, which is read meanwhile and freed after a grace
// period.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "penumbra/table.h"

struct cuckoo_table_view;

namespace penumbra {

/// A map of digests to values. One thread changes and asks it; lookups on any thread go through table() and an engine.
/// A change that throws has changed nothing that can be asked.
class CuckooTable {
 public:
  struct Shape {
    unsigned digest_bits = 0;  ///< digests are below 2^digest_bits; 60 at most
    unsigned value_bits = 0;   ///< values are 1 to 2^value_bits - 1; 1 to 32
    std::size_t most = 0;      ///< how many digests it takes
  };

  /// How a version is published whose readers need more than its view: the view that `publish` gives the table begins
  /// with a copy of `cuckoo`, and its regions with these. That of the last version stays valid meanwhile.
  using Publish = std::function<void(Table& table, const cuckoo_table_view& cuckoo, std::vector<TableRegion> regions)>;

  /// An empty table, published, of 64 KiB or of as many buckets as it takes for tag and value to share a word: 512 KiB
  /// for 60 and 16 bits. `seed` is for who makes digests. `grace_periods` outlives it. Throws std::invalid_argument for
  /// a shape that is none.
  CuckooTable(std::string name, Shape shape, std::uint64_t seed, GracePeriods& grace_periods,
              Publish publish = nullptr);
  /// No reader may be left.
  ~CuckooTable();
  CuckooTable(const CuckooTable&) = delete;
  CuckooTable& operator=(const CuckooTable&) = delete;

  /// Adds a digest, or gives it another value; returns whether it is new. Takes effect at once for engines on host
  /// memory, with commit() for others. When the table grows it waits for a grace period. Throws std::invalid_argument
  /// for a digest or value past its bits; std::length_error if the table is full, or if there is no place although it
  /// is less than half full: then somebody has chosen keys that meet, and it does not grow for them.
  bool insert(std::uint64_t digest, std::uint32_t value);
  /// Takes a digest out; returns whether it was there. Takes effect like insert().
  bool remove(std::uint64_t digest);
  /// Grows so that `digests` fill 95% at the most. Waits for a grace period.
  void reserve(std::size_t digests);
  /// Announces that the changes so far belong together: to be called after insert() and remove().
  void commit() { table_.commit(); }

  /// The value of a digest; 0 if it is not there.
  std::uint32_t find(std::uint64_t digest) const;
  /// Everything, in no order. `visit` must not change the table.
  void for_each(const std::function<void(std::uint64_t digest, std::uint32_t value)>& visit) const;

  std::size_t size() const { return size_; }  ///< digests
  std::size_t slots() const;                  ///< places for them now
  std::size_t memory_bytes() const;
  std::uint64_t seed() const { return seed_; }

  /// What engines read.
  Table& table() { return table_; }

 private:
  class Version;

  void require_valid(std::uint64_t digest) const;
  void grow(unsigned bits);

  const Shape shape_;
  const std::uint64_t seed_;
  GracePeriods& grace_periods_;
  const Publish publish_;  ///< none: the view as it is
  Table table_;
  std::size_t size_ = 0;
  std::unique_ptr<Version> version_;
};

}  // namespace penumbra
