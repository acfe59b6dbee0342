// SPDX-License-Identifier: Apache-2.0
#include "classifying.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "control/rules/header_generator.h"
#include "lookup_contender.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kTriedLinearly = std::size_t{1} << 26;  // Most rules that linear search compares.
constexpr double kSampleSeconds = 0.02;
constexpr double kLongestSettling = 1;
constexpr std::size_t kSettled = 140'000;  // Headers: somewhat more than gopt uses for a trial of its widths.

/// Compares a sample of the answers with linear search.
void check_linearly(const RuleTask& task, std::span<const std::uint32_t> places, const std::string& name) {
  const std::size_t step = task.rules.size() * places.size() / kTriedLinearly + 1;
  for (std::size_t i = 0; i < places.size(); i += step) {
    std::size_t right = 0;
    for (std::size_t place = 0; place < task.rules.size(); ++place) {
      if (right != 0 && rank_at(task, place) < rank_at(task, right - 1)) continue;
      if (matches(task.rules[place].match, task.fields, task.headers[i])) right = place + 1;
    }
    if (places[i] == right) continue;
    throw WrongAnswer(fmt::format("{}: header {} is rule {}'s, right is {}", name, i, places[i], right));
  }
}

}  // namespace

RuleTask make_rule_task(std::string name, RuleFields fields, std::vector<Rule> rules, std::span<const RuleMatch> inside,
                        std::size_t headers, std::uint64_t seed) {
  RuleTask task{.name = std::move(name), .fields = fields, .rules = std::move(rules), .headers = {}};
  std::vector<RuleMatch> own;
  if (inside.empty()) {
    own.reserve(task.rules.size());
    for (const Rule& rule : task.rules) own.push_back(rule.match);
    inside = own;
  }
  control::rules::HeaderGenerator generator(fields, task.rules, inside, {.seed = seed});
  task.headers.reserve(headers);
  while (task.headers.size() < headers) task.headers.push_back(generator.next().key);
  return task;
}

RuleTask make_rule_task(std::string name, const control::rules::RuleGeneratorOptions& options, std::size_t headers) {
  auto generated = control::rules::generate_rules(options);
  return make_rule_task(std::move(name), options.fields, std::move(generated.rules), generated.overlaps, headers,
                        options.seed);
}

std::uint64_t rank_at(const RuleTask& task, std::size_t place) {
  return std::uint64_t{task.rules[place].priority} << 48 | (task.rules.size() - place);
}

std::string classifier_name(const std::string& engine, const std::string& structure) {
  return "penumbra " + engine + ", " + structure;
}

void fill(RuleTable& table, const RuleTask& task) {
  for (std::size_t place = 0; place < task.rules.size(); ++place) {
    table.insert(static_cast<std::uint32_t>(place + 1), normalised(task.rules[place].match, task.fields),
                 rank_at(task, place));
  }
  table.commit();
}

FilledRuleTable::FilledRuleTable(std::string structure, std::unique_ptr<RuleTable> table, const RuleTask& task)
    : structure_(std::move(structure)), task_(task), table_(std::move(table)), keys_(task.fields, task.headers) {
  const double begin = now();
  fill(*table_, task);
  seconds_ = now() - begin;
}

void FilledRuleTable::add_classifier(const std::string& engine, std::vector<RuleClassifier>& classifiers) {
  auto on = std::make_unique<OnEngine>(engine, table_->table());
  if (!on->has_shader()) return;
  classifiers.push_back(
      {classifier_name(engine, structure_), [this, on = on.get()](std::size_t at, std::size_t count, auto* places) {
         on->run(keys_.column(at), places, count);
       }});
  engines_.push_back(std::move(on));
}

void check_classifiers(const RuleTask& task, std::span<const RuleClassifier> classifiers,
                       std::span<const std::size_t> batches, std::size_t headers) {
  std::vector<std::uint32_t> right, places(std::min(headers, task.headers.size()));
  for (const RuleClassifier& classifier : classifiers) {
    for (const std::size_t batch : batches) {
      std::ranges::fill(places, ~0U);
      for_each_batch(places.size(), batch,
                     [&](std::size_t at, std::size_t count) { classifier.classify(at, count, &places[at]); });
      if (right.empty()) check_linearly(task, right = places, classifier.name);
      if (places == right) continue;
      throw WrongAnswer(fmt::format("{}: {} and {} differ", task.name, classifier.name, classifiers.front().name));
    }
  }
}

Contender classifying(const RuleTask& task, const RuleClassifier& classifier, std::size_t batch) {
  struct Pace {
    std::vector<std::uint32_t> places;
    std::size_t at = 0;       // Begin of the next batch.
    std::size_t batches = 0;  // Batches of a sample; 0: not known yet.
  };
  auto pace = std::make_shared<Pace>();
  pace->places.resize(batch);
  const auto classify_next = [pace, batch, &task, &classifier] {
    if (pace->at + batch > task.headers.size()) pace->at = 0;
    classifier.classify(pace->at, batch, pace->places.data());
    keep(pace->places.data());
    pace->at += batch;
  };
  return {classifier.name,
          [pace, batch, classify_next] {
            const double begin = thread_time();
            std::size_t batches = 0;
            if (pace->batches != 0) {
              for (; batches < pace->batches; ++batches) classify_next();
            } else {
              for (double time = 0; batches * batch < kSettled && time < kLongestSettling; ++batches) {
                classify_next();
                time = thread_time() - begin;
              }
              const double each = (thread_time() - begin) / static_cast<double>(batches);
              pace->batches = static_cast<std::size_t>(kSampleSeconds / each) + 1;
            }
            return static_cast<double>(batches * batch) / (thread_time() - begin) * 1e-6;
          },
          role_of(classifier.name)};
}

double ratio_between(std::span<const Series> series, const std::string& of, const std::string& to) {
  const auto named = [&](const std::string& name) -> const Series& {
    const auto found = std::ranges::find(series, name, &Series::name);
    if (found == series.end()) throw std::invalid_argument("no contender " + name);
    return *found;
  };
  return spread(ratio(named(of), named(to)).samples).median;
}

}  // namespace penumbra::bench
