// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "penumbra/engine.h"
#include "penumbra/rule.h"
#include "tables/rules/rule_table.h"

namespace penumbra {

/// Headers in the form that shaders take.
class RuleKeys {
 public:
  RuleKeys(RuleFields fields, std::span<const RuleWords> keys);

  std::size_t size() const { return size_; }
  /// Returns the input column from key `index` on.
  const void* column(std::size_t index) const { return words_.data() + index * words_a_key_; }

 private:
  std::size_t words_a_key_;
  std::size_t size_;
  std::vector<std::uint64_t> words_;
};

/// Classifies headers with a table of rules on an engine, for one thread. Table and engine must outlive the object.
class RuleLookup {
 public:
  RuleLookup(RuleTable& table, Engine& engine);

  /// Returns the numbers of the winning rules, 0 if none matches. Submits batches of `batch_items`.
  std::vector<std::uint32_t> find(const RuleKeys& keys, std::uint32_t batch_items = 4096);
  /// Does the same for some of the keys, in one batch.
  void find(const RuleKeys& keys, std::size_t begin, std::span<std::uint32_t> numbers);

 private:
  const Table& table_;
  const Shader* shader_;
  std::unique_ptr<EngineQueue> queue_;
};

}  // namespace penumbra
