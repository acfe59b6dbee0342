// SPDX-License-Identifier: Apache-2.0
//
// The owner of the table that the shaders `rules_fast_narrow` and `rules_fast_wide` search (rules_fast.shader.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "penumbra/rule.h"
#include "penumbra/table.h"
#include "tables/rules/rule_table.h"
#include "tables/rules_fast/plan.h"

namespace penumbra {

/// Rules come into the leaves of a version and go from them. Now and then, when many have come since it was made or
/// they fit its groups badly, a new version is made of all rules and published in its place.
class FastRules final : public RuleTable {
 public:
  /// An empty table, published. With a seed that nobody knows, nobody can choose keys that meet in it. `grace_periods`
  /// outlives it.
  FastRules(RuleFields fields, std::uint64_t seed, GracePeriods& grace_periods);
  ~FastRules() override;

  void insert(std::uint32_t number, const RuleMatch& match, std::uint64_t rank) override;
  void remove(std::uint32_t number) override;
  void commit() override;

  const std::string& shader() const override { return table_.name(); }
  Table& table() override { return table_; }
  std::size_t memory_bytes() const override;

  /// How often a new version was made.
  std::size_t versions() const { return versions_; }

 private:
  class Version;

  enum class Use : std::uint8_t {
    free,
    coming,     ///< with the next commit
    cancelled,  ///< was coming, and is free with the next commit
    fresh,      ///< somebody may be reading in a state without it
    settled,    ///< everybody reads in a state with it
    leaving,    ///< with the next commit
    dying,      ///< somebody may be reading in a state with it
    gone,       ///< is being cleared away
  };
  /// A rule, by its number.
  struct Entry {
    RuleMatch match;
    std::uint64_t rank = 0;
    std::uint32_t entry = 0;  ///< as leaves have it
    std::uint16_t group = 0;
    Use use = Use::free;
  };

  void make_version(rules_fast::Care care);
  void let_old_ones_go(bool wait);

  const RuleFields fields_;
  const std::uint64_t seed_;
  GracePeriods& grace_periods_;
  Table table_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> coming_, leaving_;
  std::size_t size_ = 0;  ///< rules in force
  std::unique_ptr<Version> version_;
  std::vector<std::pair<std::uint64_t, std::unique_ptr<Version>>> old_;  ///< behind the tokens of their grace periods
  std::size_t versions_ = 0;
};

}  // namespace penumbra
