// SPDX-License-Identifier: Apache-2.0
//
// All rules of some files and folders, and the reasons why others were refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "functions/ids/rules/address_set.h"
#include "functions/ids/rules/classification.h"
#include "functions/ids/rules/rule.h"
#include "functions/ids/rules/source.h"
#include "functions/ids/rules/threshold_file.h"
#include "functions/ids/rules/variables.h"

namespace penumbra::ids {

/// A rule that was not taken.
struct RefusedRule {
  std::optional<std::uint32_t> sid;
  std::string reason;  ///< Groups refusals: "unknown keyword".
  SourceLocation place;
  std::string message;  ///< With the word that was not understood.

  /// Returns "FILE:LINE:COLUMN: MESSAGE".
  std::string text() const { return InputError(place, message).what(); }
};

/// Names the files of a rule set. Folders are searched for "*.rules", classification.config, reference.config and
/// threshold.config, in the folder itself and in its folder "rules".
struct RuleSetOptions {
  std::vector<std::filesystem::path> rules;  ///< Files or folders.
  Variables variables = Variables::defaults();
  std::vector<std::filesystem::path> classifications, references, thresholds;
  ActionOrder action_order = kActionOrder;
};

class RuleSet {
 public:
  /// Loads everything that `options` name. Throws InputError if a file cannot be read.
  static RuleSet load(const RuleSetOptions& options);

  /// Reads rules from a text; `name` is its name in messages.
  void read(std::string_view text, const std::string& name, HeaderSets& sets);

  const std::vector<Rule>& rules() const { return rules_; }
  const std::vector<RefusedRule>& refused() const { return refused_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  std::size_t disabled() const { return disabled_; }
  const Classifications& classifications() const { return classifications_; }
  const References& references() const { return references_; }
  const std::vector<ThresholdEntry>& thresholds() const { return thresholds_; }
  const std::vector<std::filesystem::path>& files() const { return files_; }
  const ActionOrder& action_order() const { return action_order_; }
  /// Returns a digest of variables, classes, references, thresholds and the order of actions.
  std::size_t context_digest() const { return context_digest_; }

  /// Returns the priority of a rule: its own, that of its class, or 3.
  std::uint32_t priority_of(const Rule& rule) const;

 private:
  void add(Rule rule);
  void refuse(const RuleSource& source, const RuleError& error);
  void warn_of_classes();
  void warn_of_flowbits();

  std::vector<Rule> rules_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> by_sid_;  ///< By gid and sid.
  std::vector<RefusedRule> refused_;
  std::vector<std::string> warnings_;
  std::size_t disabled_ = 0;
  Classifications classifications_;
  References references_;
  std::vector<ThresholdEntry> thresholds_;
  std::vector<std::filesystem::path> files_;
  ActionOrder action_order_ = kActionOrder;
  std::size_t context_digest_ = 0;
};

}  // namespace penumbra::ids
