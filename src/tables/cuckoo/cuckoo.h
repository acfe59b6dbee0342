// SPDX-License-Identifier: Apache-2.0
//
// The owner of a cuckoo table, a map of digests to values. Shaders look up digests by cuckoo_table_find().
// cuckoo.shader.h explains why a reader never misses a digest while the owner moves it.
//
// The owner frees a slot of a full bucket along the shortest path to an empty slot, from the end of the path. The
// search is breadth first (MemC3: Fan, Andersen, Kaminsky, NSDI 2013). The table grows if there is no path. Growing
// fills a version with twice the buckets while readers use the old version, which is freed after a grace period.
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

/// A map of digests to values. One thread calls all functions. Lookups on any thread go through table() and an engine.
/// A change that throws leaves the content as it was.
class CuckooTable {
 public:
  struct Shape {
    unsigned digest_bits = 0;  ///< digests are below 2^digest_bits; at most 60
    unsigned value_bits = 0;   ///< values are 1 to 2^value_bits - 1; 1 to 32
    std::size_t most = 0;      ///< maximum number of digests
  };

  /// Publishes a version to readers that need more than the view of the cuckoo table. The view that the function
  /// publishes begins with a copy of `cuckoo`, and its regions begin with `regions`. The view of the previous version
  /// stays valid during the call.
  using Publish = std::function<void(Table& table, const cuckoo_table_view& cuckoo, std::vector<TableRegion> regions)>;

  /// Makes and publishes an empty table. The size is 64 KiB, or larger if tag and value would not fit in a word: 512
  /// KiB for 60 and 16 bits. `seed` is for the caller, who makes the digests. `grace_periods` must outlive the table.
  /// Throws std::invalid_argument for an invalid shape.
  CuckooTable(std::string name, Shape shape, std::uint64_t seed, GracePeriods& grace_periods,
              Publish publish = nullptr);
  /// No reader may exist any more.
  ~CuckooTable();
  CuckooTable(const CuckooTable&) = delete;
  CuckooTable& operator=(const CuckooTable&) = delete;

  /// Adds a digest or replaces its value. Returns true if the digest is new. The change takes effect immediately for
  /// engines on host memory and at commit() for other engines. Waits for a grace period if the table grows. Throws
  /// std::invalid_argument if digest or value is out of range. Throws std::length_error if the table is full, or if it
  /// finds no slot while less than half full. The second case means that keys were chosen to collide, so the table does
  /// not grow.
  bool insert(std::uint64_t digest, std::uint32_t value);
  /// Removes a digest. Returns true if it was present. Takes effect like insert().
  bool remove(std::uint64_t digest);
  /// Grows until `digests` digests fill at most 95% of the slots. Waits for a grace period if the table grows.
  void reserve(std::size_t digests);
  /// Marks the end of a group of changes. Must follow insert() and remove().
  void commit() { table_.commit(); }

  /// Returns the value of a digest, or 0 if the digest is not present.
  std::uint32_t find(std::uint64_t digest) const;
  /// Calls `visit` for each digest, in no particular order. `visit` must not change the table.
  void for_each(const std::function<void(std::uint64_t digest, std::uint32_t value)>& visit) const;

  std::size_t size() const { return size_; }  ///< number of digests
  std::size_t slots() const;                  ///< current number of slots
  std::size_t memory_bytes() const;
  std::uint64_t seed() const { return seed_; }

  /// Returns the table that engines read.
  Table& table() { return table_; }

 private:
  class Version;

  void require_valid(std::uint64_t digest) const;
  void grow(unsigned bits);

  const Shape shape_;
  const std::uint64_t seed_;
  GracePeriods& grace_periods_;
  const Publish publish_;  ///< empty: the table publishes the view itself
  Table table_;
  std::size_t size_ = 0;
  std::unique_ptr<Version> version_;
};

}  // namespace penumbra
