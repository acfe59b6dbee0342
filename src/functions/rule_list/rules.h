// SPDX-License-Identifier: Apache-2.0
//
// The rules of a list and the table that finds them, whatever the kind of their keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "penumbra/rule.h"
#include "tables/rules/rule_numbers.h"
#include "tables/rules/rule_set.h"
#include "tables/rules/rule_table.h"
#include "tables/rules_tuple/tuple_rules.h"

namespace penumbra::rule_list {

/// Rules with matches of the list's entries. One thread changes the rules. Any thread may look packets up through
/// table() and an engine; the results are numbers of rules.
template <class Match>
class Rules {
 public:
  Rules() = default;
  Rules(const Rules&) = delete;
  Rules& operator=(const Rules&) = delete;
  virtual ~Rules() = default;

  /// Adds a rule and returns its number. Of the matching rules, the highest rank wins. Ranks are unique and never 0.
  /// Takes effect at commit(). Throws std::length_error if there is no room.
  virtual std::uint32_t add(const Match& match, std::uint64_t rank) = 0;
  /// Removes a rule, which must exist. Takes effect at commit().
  virtual void remove(std::uint32_t number) = 0;
  /// Makes all changes since the last commit effective at once.
  virtual void commit() = 0;

  virtual const std::string& shader() const = 0;
  virtual Table& table() = 0;
  virtual std::size_t memory_bytes() const = 0;
};

/// Rules in a structure of rule_structures().
class TableRules final : public Rules<RuleMatch> {
 public:
  /// `grace_periods` must outlive the rules. Throws std::invalid_argument for an unknown structure.
  TableRules(RuleFields fields, const std::string& structure, std::uint64_t seed, GracePeriods& grace_periods);

  std::uint32_t add(const RuleMatch& match, std::uint64_t rank) override { return rules_.add_ranked(match, rank); }
  void remove(std::uint32_t number) override { rules_.remove(number); }
  void commit() override { rules_.commit(); }
  const std::string& shader() const override { return table_->shader(); }
  Table& table() override { return table_->table(); }
  std::size_t memory_bytes() const override { return table_->memory_bytes(); }

 private:
  std::unique_ptr<RuleTable> table_;
  RuleSet rules_;
};

/// Rules with sparse keys. The answers of the shader are those of rules_sparse_answer().
class SparseRules final : public Rules<SparseMatch> {
 public:
  /// `structure` is `tuple` or `bloom`. `grace_periods` must outlive the rules.
  SparseRules(const std::string& structure, std::uint64_t seed, GracePeriods& grace_periods);

  std::uint32_t add(const SparseMatch& match, std::uint64_t rank) override;
  void remove(std::uint32_t number) override;
  void commit() override;
  const std::string& shader() const override { return table_.shader(); }
  Table& table() override { return table_.table(); }
  std::size_t memory_bytes() const override { return table_.memory_bytes(); }

 private:
  TupleRules table_;
  RuleNumbers numbers_;
};

}  // namespace penumbra::rule_list
