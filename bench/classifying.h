// SPDX-License-Identifier: Apache-2.0
//
// Shared parts of the benchmarks of packet classification: rules and headers, and every rule structure on every engine,
// with rivals. Contenders are checked and then measured.
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

/// Rules, and headers that match them.
struct RuleTask {
  std::string name;
  RuleFields fields = RuleFields::ipv4;
  std::vector<Rule> rules;
  std::vector<RuleWords> headers;  ///< In random order.
};

/// Makes a task whose headers are drawn from `inside`, or from the rules if that is empty.
RuleTask make_rule_task(std::string name, RuleFields fields, std::vector<Rule> rules, std::span<const RuleMatch> inside,
                        std::size_t headers, std::uint64_t seed);
/// Makes a task of generated rules. The options define how many subtables match a header.
RuleTask make_rule_task(std::string name, const control::rules::RuleGeneratorOptions& options, std::size_t headers);

/// Returns the rank of the rule at `place` (from 0): the matching rule of the highest rank wins, by priority, then by
/// place.
std::uint64_t rank_at(const RuleTask& task, std::size_t place);

/// Classifies `count` of a task's headers from `at` on. Writes the places of rules, from 1, or 0 if none matches.
struct RuleClassifier {
  std::string name;
  std::function<void(std::size_t at, std::size_t count, std::uint32_t* places)> classify;
};

/// Inserts a task's rules, numbered by their places from 1 on, into an empty table.
void fill(RuleTable& table, const RuleTask& task);

/// A structure's table with a task's rules, and the headers in its shader's format. The task must outlive it.
class FilledRuleTable {
 public:
  FilledRuleTable(std::string structure, std::unique_ptr<RuleTable> table, const RuleTask& task);

  /// Adds a classifier for the table's shader on an engine, named "penumbra ENGINE, STRUCTURE". Adds none if the engine
  /// lacks the shader. The FilledRuleTable must outlive the classifier.
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

/// Returns "penumbra ENGINE, STRUCTURE".
std::string classifier_name(const std::string& engine, const std::string& structure);

/// Throws WrongAnswer unless every classifier gives the same answer for the first `headers` headers in every batch
/// size. The answers are also compared with linear search, for as many headers as time permits.
void check_classifiers(const RuleTask& task, std::span<const RuleClassifier> classifiers,
                       std::span<const std::size_t> batches, std::size_t headers);

/// Makes a contender that classifies a task's headers repeatedly in batches of `batch`. A sample takes about 20 ms and
/// returns millions of headers per second of thread time. The first sample, which is not counted, lasts until the
/// engine has calibrated, at most a second. The classifier must outlive the contender.
Contender classifying(const RuleTask& task, const RuleClassifier& classifier, std::size_t batch);

/// Returns the median ratio of two contenders, taken by round. Throws std::invalid_argument if a name is missing.
double ratio_between(std::span<const Series> series, const std::string& of, const std::string& to);

}  // namespace penumbra::bench
