// SPDX-License-Identifier: Apache-2.0
//
// What the owners of the classifiers' tables have in common: rules in and out, whichever way a shader finds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "penumbra/rule.h"
#include "penumbra/table.h"

namespace penumbra {

/// Rules, and a shader that says of each key the number of the rule that wins, 0 (RULES_NONE) if none matches. One
/// thread changes it; lookups on any thread go through table() and an engine. A change that throws has changed nothing.
class RuleTable {
 public:
  RuleTable() = default;
  RuleTable(const RuleTable&) = delete;
  RuleTable& operator=(const RuleTable&) = delete;
  virtual ~RuleTable() = default;

  /// Adds a rule, normalised for the table's fields, under a number that no rule has, and that none has had that was
  /// taken out less than a grace period before. Of rules that match the one of the highest rank wins: never 0, no two
  /// alike. It counts from commit() on. Throws std::length_error if there is no place for it.
  virtual void insert(std::uint32_t number, const RuleMatch& match, std::uint64_t rank) = 0;
  /// Takes one out that is there. It counts until commit().
  virtual void remove(std::uint32_t number) = 0;
  /// All changes since the last commit take effect, together: no key is decided by a part of them.
  virtual void commit() = 0;

  /// The shader that reads table(): one input column of keys (rules_narrow_key for RuleFields::ipv4, otherwise
  /// rules_key), one output column of uint32_t.
  virtual const std::string& shader() const = 0;
  virtual Table& table() = 0;
  virtual std::size_t memory_bytes() const = 0;
};

}  // namespace penumbra
