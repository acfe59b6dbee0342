// SPDX-License-Identifier: Apache-2.0
//
// The owner of the table that the shaders `rules_linear_narrow` and `rules_linear_wide` (rules_linear.shader.h) search.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "penumbra/huge_memory.h"
#include "penumbra/table_changes.h"
#include "tables/rules/rule_records.h"
#include "tables/rules/rule_table.h"
#include "tables/rules_linear/rules_linear.shader.h"

namespace penumbra {

class LinearRules final : public RuleTable {
 public:
  /// Makes and publishes an empty table. `grace_periods` must outlive the table; `last_state` is as in RuleRecords.
  LinearRules(RuleFields fields, GracePeriods& grace_periods, std::uint32_t last_state = RuleRecords::kNever - 1);

  void insert(std::uint32_t number, const RuleMatch& match, std::uint64_t rank) override;
  void remove(std::uint32_t number) override { records_.remove(number); }
  void commit() override;

  const std::string& shader() const override { return table_.name(); }
  Table& table() override { return table_; }
  std::size_t memory_bytes() const override;

 private:
  void publish();

  const std::size_t words_;
  GracePeriods& grace_periods_;
  Table table_;
  RuleRecords records_;
  HugeArray<std::uint64_t> masks_;
  TableChanges<std::uint64_t> mask_changes_{RuleRecords::kRegions};
  alignas(64) std::array<std::uint32_t, 16> end_{1};  ///< element 0 is the end; has its own cache line
  std::array<rules_linear_view, 2> views_{};
  std::size_t view_ = 0;  ///< index of the current view
};

}  // namespace penumbra
