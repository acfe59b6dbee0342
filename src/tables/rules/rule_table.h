// SPDX-License-Identifier: Apache-2.0
//
// The common interface of the owners of classification tables: rules are added and removed, and a shader finds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "penumbra/rule.h"
#include "penumbra/table.h"

namespace penumbra {

/// Rules, and a shader that finds the number of the winning rule of each key, or 0 (RULES_NONE) if none matches. One
/// thread changes the table. Lookups on any thread go through table() and an engine. A change that throws leaves the
/// content as it was.
class RuleTable {
 public:
  RuleTable() = default;
  RuleTable(const RuleTable&) = delete;
  RuleTable& operator=(const RuleTable&) = delete;
  virtual ~RuleTable() = default;

  /// Adds a rule that is normalised for the table's fields. No other rule may have its number, and a removed rule must
  /// have lost the number at least a grace period ago. Of the matching rules, the highest rank wins. Ranks are unique
  /// and never 0. Takes effect at commit(). Throws std::length_error if the table is full.
  virtual void insert(std::uint32_t number, const RuleMatch& match, std::uint64_t rank) = 0;
  /// Removes a rule, which must exist. Takes effect at commit().
  virtual void remove(std::uint32_t number) = 0;
  /// Makes all changes since the last commit effective at once: no lookup sees only a part of them.
  virtual void commit() = 0;

  /// Returns the shader that reads table(). The shader has one input column of keys (rules_narrow_key for
  /// RuleFields::ipv4, otherwise rules_key) and one output column of uint32_t.
  virtual const std::string& shader() const = 0;
  virtual Table& table() = 0;
  virtual std::size_t memory_bytes() const = 0;
};

}  // namespace penumbra
