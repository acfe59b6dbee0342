// SPDX-License-Identifier: Apache-2.0
//
// The owner of the tables that the shaders `rules_tuple_*` and `rules_bloom_*` search (rules_tuple.shader.h,
// rules_bloom.shader.h): records by number, chained by class and value, a cuckoo table that leads to the chains, the
// list of subtables, and of Bloom search their filters.
//
// Who reads with a view that is no longer current would miss what only the later one leads to, so whatever publishes a
// view waits for a grace period before anything that comes after it is committed. That happens when something has
// outgrown its place: some twenty times on the way to a million rules. All other changes are made in place.
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
#include "tables/rules_tuple/rules_tuple.shader.h"
#include "tables/rules_tuple/subtable_filters.h"
#include "tables/rules_tuple/subtable_list.h"

namespace penumbra {

class TupleRules final : public RuleTable {
 public:
  enum class Search : std::uint8_t { tuple, bloom };

  /// An empty table, published. `grace_periods` outlives it; `last_state` as in RuleRecords; `filter_bits` as in
  /// SubtableFilters.
  TupleRules(Search search, RuleFields fields, std::uint64_t seed, GracePeriods& grace_periods,
             std::uint32_t last_state = RuleRecords::kNever - 1, std::optional<std::uint32_t> filter_bits = {});

  void insert(std::uint32_t number, const RuleMatch& match, std::uint64_t rank) override;
  void remove(std::uint32_t number) override;
  void commit() override;

  const std::string& shader() const override { return shader_; }
  Table& table() override { return cuckoo_.table(); }
  std::size_t memory_bytes() const override;

  /// For tests and whoever shows it.
  std::size_t subtables() const { return subtables_.size(); }
  std::size_t values() const { return cuckoo_.size(); }  ///< digests of values

 private:
  /// Of a rule that is linked.
  struct Links {
    std::uint32_t previous;       ///< in its chain; RULES_NONE: it is the first
    std::uint32_t before, after;  ///< in the list of its class
  };

  void publish(Table& table);
  void publish_and_wait();
  RuleMatch nested(const RuleMatch& match) const;
  Subtable& subtable_of(const RuleWords& mask);
  std::uint64_t digest_of(const Subtable& of, const rules_record& record) const;
  void make_filter(SubtableFilters& filters, Subtable& of, const std::uint64_t* coming = nullptr);
  void link(std::uint32_t number, Subtable& of);
  void unlink(std::uint32_t number);
  void sort_subtables();
  void find_best(Subtable& of);

  const std::string shader_;
  const std::size_t words_;
  GracePeriods& grace_periods_;
  const std::array<std::uint64_t, RULES_WORDS> secrets_;
  RuleRecords records_;
  SubtableList subtables_;
  std::optional<SubtableFilters> filters_;
  HugeArray<Links> links_;
  std::size_t credit_ = 0;  ///< how much work on the list of subtables the changes so far have paid for
  std::size_t needed_ = 0;  ///< before more of it is done
  cuckoo_table_view cuckoo_view_{};
  std::vector<TableRegion> cuckoo_regions_;
  std::array<rules_tuple_view, 2> views_{};
  std::size_t view_ = 0;  ///< the current one
  CuckooTable cuckoo_;
};

}  // namespace penumbra
