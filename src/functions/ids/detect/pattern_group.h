// SPDX-License-Identifier: Apache-2.0
//
// The fast patterns of rules, and the rules to evaluate where one occurs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "functions/ids/detect/hyperscan.h"
#include "functions/ids/rules/buffer.h"
#include "functions/ids/rules/rule.h"
#include "tables/patterns/patterns.h"

namespace penumbra::ids {

/// Names the search for patterns in texts.
enum class MatcherKind : std::uint8_t { patterns, hyperscan };

/// The rules that have a fast pattern in one buffer. Read-only, so that workers can share it. Rules are numbers.
class PatternGroup {
 public:
  PatternGroup(Needs needs, Buffer buffer) : needs_(needs), buffer_(buffer) {}

  /// Adds a rule. `pattern` has at least Patterns::kLeastBytes bytes.
  void add(const std::string& pattern, std::uint32_t rule);
  /// Makes the automaton, and what else the matcher needs. Call once, after all rules were added. Throws
  /// std::runtime_error if the matcher is unavailable, and std::length_error if the automaton would be too large.
  void compile(MatcherKind matcher);

  Needs needs() const { return needs_; }
  Buffer buffer() const { return buffer_; }
  std::size_t size() const { return texts_.size(); }
  const std::shared_ptr<const Patterns>& patterns() const { return patterns_; }

  /// Returns the patterns for Hyperscan, or null for another matcher.
  const Hyperscan* hyperscan() const { return hyperscan_.get(); }
  /// Returns the rules of a pattern of hyperscan().
  const std::vector<std::uint32_t>& rules_of_pattern(std::uint32_t pattern) const { return rules_[pattern]; }

  /// Calls `take(rule)` for each rule whose pattern may occur where the automaton found `set`. The case of letters is
  /// not compared.
  template <class Take>
  void rules_of(std::uint32_t set, const Take& take) const {
    for (const std::uint32_t pattern : patterns_->patterns_of(set)) {
      for (const std::uint32_t rule : rules_[pattern]) take(rule);
    }
  }

 private:
  Needs needs_;
  Buffer buffer_;
  std::unordered_map<std::string, std::size_t> numbers_;  ///< Numbers of folded patterns, until compile().
  std::vector<std::string> texts_;                        ///< Different folded patterns.
  std::vector<std::vector<std::uint32_t>> rules_;         ///< By pattern.
  std::shared_ptr<const Patterns> patterns_;
  std::unique_ptr<const Hyperscan> hyperscan_;
};

}  // namespace penumbra::ids
