// SPDX-License-Identifier: Apache-2.0
//
// What the benchmarks of packet classification share: rules and headers, every structure for rules on every engine, and
// rivals beside them, checked and then measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench.h"
#include "control/rules/rule_generator.h"
#include "on_engine.h"
#include "penumbra/rule.h"
#include "tables/rules/rule_lookup.h"
#include "tables/rules/rule_table.h"

namespace penumbra::bench {

/// Rules, and headers that they match.
struct RuleTask {
  std::string name;
  RuleFields fields = RuleFields::ipv4;
  std::vector<Rule> rules;
  std::vector<RuleWords> headers;  ///< in random order
};

/// Headers are drawn from `inside`, or from the rules if that is empty.
RuleTask make_rule_task(std::string name, RuleFields fields, std::vector<Rule> rules, std::span<const RuleMatch> inside,
                        std::size_t headers, std::uint64_t seed);
/// The same of generated rules. Headers lie where as many classes match as the options say.
RuleTask make_rule_task(std::string name, const control::rules::RuleGeneratorOptions& options, std::size_t headers);

/// By rank the rule of a task that stands at `place` (from 0) wins as its priority and its place say.
std::uint64_t rank_at(const RuleTask& task, std::size_t place);

/// Writes places of rules, from 1, or 0 where none matches, of `count` of a task's headers from `at` on.
struct RuleClassifier {
  std::string name;
  std::function<void(std::size_t at, std::size_t count, std::uint32_t* places)> classify;
};

/// Puts a task's rules, numbered by their places from 1 on, into an empty table.
void fill(RuleTable& table, const RuleTask& task);

/// A structure's table with a task's rules, and the headers in the form that its shader takes. The task outlives it.
class FilledRuleTable {
 public:
  FilledRuleTable(std::string structure, std::unique_ptr<RuleTable> table, const RuleTask& task);

  /// Its shader on an engine; nothing if the engine does not have it. Called "penumbra ENGINE, STRUCTURE". This
  /// outlives the classifier.
  void add_classifier(const std::string& engine, std::vector<RuleClassifier>& classifiers);

  const std::string& structure() const { return structure_; }
  double seconds_to_fill() const { return seconds_; }
  std::size_t bytes_a_rule() const { return table_->memory_bytes() / task_.rules.size(); }

 private:
  const std::string structure_;
  const RuleTask& task_;
  std::unique_ptr<RuleTable> table_;
  RuleKeys keys_;
  std::vector<std::unique_ptr<OnEngine>> engines_;
  double seconds_ = 0;
};

/// "penumbra ENGINE, STRUCTURE".
std::string classifier_name(const std::string& engine, const std::string& structure);

/// Throws WrongAnswer unless every classifier gives the first `headers` headers the same answer in every batch size,
/// and those are linear search's, which is tried for as many of them as it has time for.
void check_classifiers(const RuleTask& task, std::span<const RuleClassifier> classifiers,
                       std::span<const std::size_t> batches, std::size_t headers);

/// Classifies a task's headers again and again in batches of `batch`, each sample for some 20 ms, and gives millions a
/// second of the thread's time. The first sample, which nobody counts, is as long as an engine takes to find its best
/// way, a second at most. The classifier outlives it.
Contender classifying(const RuleTask& task, const RuleClassifier& classifier, std::size_t batch);

/// The median ratio of two contenders round by round, by their names. Throws std::invalid_argument if one is not there.
double ratio_between(std::span<const Series> series, const std::string& of, const std::string& to);

}  // namespace penumbra::bench
