// SPDX-License-Identifier: Apache-2.0
//
// An access list in force: its entries in order, the structure that is searched, and what each has decided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "functions/acl/entry.h"
#include "penumbra/table.h"
#include "shaders/rules/rule_set.h"
#include "shaders/rules/rule_table.h"

namespace penumbra::acl {

/// What becomes of a list when another one takes its place.
struct Changes {
  std::vector<std::uint32_t> kept;  ///< of each new entry, the old one's place that goes on as it, from 1; 0: none does
  std::size_t added = 0;
  std::size_t removed = 0;
};

/// Entries that do the same and stand in the same order in both go on: of these as many as there can be.
Changes compare(std::span<const Entry> before, std::span<const Entry> after);

/// Entries that decide in their order, the last of which matches all. One thread changes and asks it; lookups on any
/// thread go through table() and an engine. Answers are numbers of entries.
class List {
 public:
  /// `structure` is one of rule_structures(). `grace_periods` outlives it. Throws std::length_error if the structure
  /// has no place for so many.
  List(Family family, const std::string& structure, std::uint64_t seed, GracePeriods& grace_periods);

  /// Takes over other entries, all at once: each packet is decided by the list before or by this one. Entries that both
  /// have keep their numbers; `begin` is told of the others before they can be answers. Throws std::length_error if the
  /// two together are too many, and then nothing has changed.
  void replace(std::vector<Entry> entries, const std::function<void(std::uint32_t number, const Entry& entry)>& begin);

  const std::vector<Entry>& entries() const { return entries_; }
  /// The number by which lookups name an entry, by its place in entries().
  std::uint32_t number(std::size_t place) const { return numbers_[place]; }

  const std::string& shader() const { return table_->shader(); }
  Table& table() { return table_->table(); }
  std::size_t memory_bytes() const { return table_->memory_bytes(); }

 private:
  std::vector<std::uint64_t> ranks_of(const Changes& changes) const;

  std::unique_ptr<RuleTable> table_;
  RuleSet rules_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> numbers_;  ///< of each entry
  std::vector<std::uint64_t> ranks_;    ///< likewise, falling
};

}  // namespace penumbra::acl
