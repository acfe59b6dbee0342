// SPDX-License-Identifier: Apache-2.0
#include "gpu/rule_work.h"

#include <array>
#include <cstring>
#include <utility>

#include "tables/rules/rule_structures.h"

namespace penumbra::bench::gpu {
namespace {

constexpr std::size_t kBatch = 4096;

}  // namespace

RuleWork::RuleWork(const std::string& structure, std::uint64_t seed, const RuleTask& task,
                   std::vector<std::uint32_t> right)
    : RuleWork([&](GracePeriods& periods) { return make_rule_table(structure, task.fields, seed, periods); }, task,
               std::move(right)) {}

RuleWork::RuleWork(const MakeTable& make, const RuleTask& task, std::vector<std::uint32_t> right)
    : LookupWork(task.headers.size(), key_bytes_of(task.fields), sizeof(std::uint32_t)),
      right_(std::move(right)),
      table_(make(no_readers_)) {
  fill(*table_, task);
  const RuleKeys keys(task.fields, task.headers);
  std::memcpy(own_keys(), keys.column(0), size() * key_bytes());
  set_right(right_.data());
}

std::vector<std::uint32_t> right_answers(const RuleTask& task, std::uint64_t seed) {
  NoReaders no_readers;
  FilledRuleTable table("fast", make_rule_table("fast", task.fields, seed, no_readers), task);
  std::vector<RuleClassifier> classifiers;
  table.add_classifier("scalar", classifiers);
  check_classifiers(task, classifiers, std::array{kBatch}, task.headers.size());
  std::vector<std::uint32_t> right(task.headers.size());
  classifiers.front().classify(0, right.size(), right.data());
  return right;
}

}  // namespace penumbra::bench::gpu
