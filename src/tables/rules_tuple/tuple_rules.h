// SPDX-License-Identifier: Apache-2.0
//
// The owner of the tables that the shaders `rules_tuple_*` and `rules_bloom_*` search (rules_tuple.shader.h,
// rules_bloom.shader.h). The owner has records by number, chained by subtable and value, and a cuckoo table that leads
// to the chains. The owner also has the list of subtables and, for Bloom search, their filters.
//
// A reader with an old view would miss memory that only a newer view refers to. Every publication of a view therefore
// waits for a grace period before later changes are committed. A publication happens when a part outgrows its place,
// about twenty times on the way to a million rules. All other changes are made in place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "penumbra/huge_memory.h"
#include "tables/cuckoo/cuckoo.h"
#include "tables/rules/rule_records.h"
#include "tables/rules/rule_table.h"
#include "tables/rules_tuple/rules_sparse.shader.h"
#include "tables/rules_tuple/rules_tuple.shader.h"
#include "tables/rules_tuple/sparse_match.h"
#include "tables/rules_tuple/subtable_filters.h"
#include "tables/rules_tuple/subtable_list.h"

namespace penumbra {

class TupleRules final : public RuleTable {
 public:
  enum class Search : std::uint8_t { tuple, bloom };

  /// Makes and publishes an empty table. `grace_periods` must outlive the table. `last_state` is as in RuleRecords, and
  /// `filter_bits` as in SubtableFilters.
  TupleRules(Search search, RuleFields fields, std::uint64_t seed, GracePeriods& grace_periods,
             std::uint32_t last_state = RuleRecords::kNever - 1, std::optional<std::uint32_t> filter_bits = {});
  /// Makes and publishes an empty table of sparse keys. The shader has one input column of rules_sparse_key and one
  /// output column of uint64_t (rules_sparse_answer()).
  struct Sparse {};
  TupleRules(Search search, Sparse sparse, std::uint64_t seed, GracePeriods& grace_periods,
             std::uint32_t last_state = RuleRecords::kNever - 1);

  void insert(std::uint32_t number, const RuleMatch& match, std::uint64_t rank) override;
  /// Adds a rule to a table of sparse keys, like insert() above. Of matching rules with the same rank, any may win. If
  /// all ranks are the same, a search ends at the first rule that matches.
  void insert(std::uint32_t number, const SparseMatch& match, std::uint64_t rank = 1);
  void remove(std::uint32_t number) override;
  void commit() override;

  const std::string& shader() const override { return shader_; }
  Table& table() override { return cuckoo_.table(); }
  std::size_t memory_bytes() const override;

  /// Returns the current state, which answers of sparse tables name. Any thread.
  std::uint32_t state() const noexcept { return __atomic_load_n(records_.state(), __ATOMIC_ACQUIRE); }

  /// For tests and statistics.
  std::size_t subtables() const { return subtables_.size(); }
  std::size_t values() const { return cuckoo_.size(); }  ///< number of digests of values

 private:
  /// The links of a linked rule.
  struct Links {
    std::uint32_t previous;       ///< in its chain; RULES_NONE if it is the first
    std::uint32_t before, after;  ///< in the list of its subtable
  };

  TupleRules(Search search, std::string shader, std::size_t words, bool is_sparse, std::uint64_t seed,
             GracePeriods& grace_periods, std::uint32_t last_state, std::optional<std::uint32_t> filter_bits);

  void publish(Table& table);
  void publish_and_wait();
  RuleMatch nested(const RuleMatch& match) const;
  Subtable& subtable_of(const SparseWords& mask);
  /// Adds a rule whose `value` has the words that the subtable uses.
  void insert(std::uint32_t number, Subtable& of, const SparseWords& value, const RuleMatch& match, std::uint64_t rank);
  /// Writes the words of a value that do not fit in the record.
  void write_more(std::uint32_t number, const SparseWords& value);
  /// Returns the words of a rule's value that its subtable uses.
  SparseWords value_of(std::uint32_t number) const;
  std::uint64_t digest_of(const Subtable& of, const SparseWords& value) const;
  void make_filter(SubtableFilters& filters, Subtable& of, const SparseWords* coming = nullptr);
  void link(std::uint32_t number, Subtable& of);
  void unlink(std::uint32_t number);
  void sort_subtables();
  void find_best(Subtable& of);

  const std::string shader_;
  const std::size_t words_;
  GracePeriods& grace_periods_;
  const bool is_sparse_;
  const SparseWords secrets_;
  RuleRecords records_;
  SubtableList subtables_;
  std::optional<SubtableFilters> filters_;
  HugeArray<Links> links_;
  HugeArray<std::uint64_t> more_;  ///< further words of the values of sparse rules; empty for other keys
  TableChanges<std::uint64_t> more_changes_{0};
  HugeArray<std::uint64_t> sparse_secrets_;  ///< a copy of the secrets for readers; empty for other keys
  std::size_t credit_ = 0;                   ///< work on the list of subtables that the changes have paid for
  std::size_t needed_ = 0;                   ///< credit that must be reached before more work is done
  cuckoo_table_view cuckoo_view_{};
  std::vector<TableRegion> cuckoo_regions_;
  std::array<rules_tuple_view, 2> views_{};
  std::size_t view_ = 0;  ///< index of the current view
  CuckooTable cuckoo_;
};

}  // namespace penumbra
