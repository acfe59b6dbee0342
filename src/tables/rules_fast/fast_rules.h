// SPDX-License-Identifier: Apache-2.0
//
// The owner of the table that the shaders `rules_fast_narrow` and `rules_fast_wide` (rules_fast.shader.h) search.
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

/// Rules are added to and removed from the leaves of a version. After many additions, or if rules fit badly into its
/// groups, a new version of all rules replaces it.
class FastRules final : public RuleTable {
 public:
  /// Makes and publishes an empty table. A secret seed prevents attackers from choosing keys that collide.
  /// `grace_periods` must outlive the table.
  FastRules(RuleFields fields, std::uint64_t seed, GracePeriods& grace_periods);
  ~FastRules() override;

  void insert(std::uint32_t number, const RuleMatch& match, std::uint64_t rank) override;
  void remove(std::uint32_t number) override;
  void commit() override;

  const std::string& shader() const override { return table_.name(); }
  Table& table() override { return table_; }
  std::size_t memory_bytes() const override;

  /// Returns the number of versions that were made.
  std::size_t versions() const { return versions_; }

 private:
  class Version;

  enum class Use : std::uint8_t {
    free,
    coming,     ///< added, but not committed
    cancelled,  ///< removed before its commit; free from the next commit on
    fresh,      ///< a reader may be in a state without it
    settled,    ///< all readers are in a state with it
    leaving,    ///< removed, but not committed
    dying,      ///< a reader may be in a state with it
    gone,       ///< being freed
  };
  /// A rule, by number.
  struct Entry {
    RuleMatch match;
    std::uint64_t rank = 0;
    std::uint32_t entry = 0;  ///< as in leaves
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
  std::size_t size_ = 0;  ///< number of rules in force
  std::unique_ptr<Version> version_;
  std::vector<std::pair<std::uint64_t, std::unique_ptr<Version>>> old_;  ///< with the tokens of their grace periods
  std::size_t versions_ = 0;
};

}  // namespace penumbra
