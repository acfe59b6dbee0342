// SPDX-License-Identifier: Apache-2.0
#include "tables/rules/rule_lookup.h"

#include <algorithm>
#include <thread>

namespace penumbra {

RuleKeys::RuleKeys(RuleFields fields, std::span<const RuleWords> keys)
    : words_a_key_(words_of(fields)), size_(keys.size()) {
  words_.reserve(size_ * words_a_key_);
  for (const RuleWords& key : keys) words_.insert(words_.end(), key.begin(), key.begin() + words_a_key_);
}

RuleLookup::RuleLookup(RuleTable& table, Engine& engine)
    : table_(table.table()), shader_(engine.find_shader(table.shader())) {
  engine.use_table(table.table());
  queue_ = engine.open_queue();
}

std::vector<std::uint32_t> RuleLookup::find(const RuleKeys& keys, std::uint32_t batch_items) {
  std::vector<std::uint32_t> numbers(keys.size());
  for (std::size_t begin = 0; begin < keys.size(); begin += batch_items) {
    find(keys, begin, std::span(numbers).subspan(begin, std::min<std::size_t>(batch_items, keys.size() - begin)));
  }
  return numbers;
}

void RuleLookup::find(const RuleKeys& keys, std::size_t begin, std::span<std::uint32_t> numbers) {
  Batch batch;
  batch.shader = shader_;
  batch.table = &table_;
  batch.items = static_cast<std::uint32_t>(numbers.size());
  batch.inputs[0] = keys.column(begin);
  batch.outputs[0] = numbers.data();
  auto result = queue_->submit(batch);
  while (result == EngineQueue::Submitted::full) result = queue_->submit(batch);
  while (result == EngineQueue::Submitted::queued && queue_->poll() == nullptr) std::this_thread::yield();
}

}  // namespace penumbra
