// SPDX-License-Identifier: Apache-2.0
#include "opportunistic/queue.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace penumbra::opportunistic {

AutoQueue::AutoQueue(AutoEngine& engine, std::vector<std::unique_ptr<EngineQueue>> queues, std::optional<unsigned> core,
                     std::uint64_t max_delay, Now now)
    : engine_(engine),
      queues_(std::move(queues)),
      core_(core),
      now_(now),
      choice_(queues_.size(), max_delay),
      current_(static_cast<std::size_t>(
          std::ranges::find_if(queues_, [](const auto& each) { return each != nullptr; }) - queues_.begin())),
      used_(current_),
      rates_(queues_.size()) {
  ways_.reserve(queues_.size());
  found_.reserve(queues_.size());
  ways_.push_back(current_);
}

AutoQueue::~AutoQueue() {
  engine_.remove(*this);
}

void AutoQueue::share(std::shared_ptr<const HugeMemory> memory) {
  for (const auto& queue : queues_) {
    if (queue != nullptr) queue->share(memory);
  }
}

void AutoQueue::unshare(const HugeMemory& memory) {
  for (const auto& queue : queues_) {
    if (queue != nullptr) queue->unshare(memory);
  }
}

void AutoQueue::know(const SharedShader& shader, const Table& table) noexcept {
  shader_ = &shader;
  table_ = &table;
  engine_.find_ways(shader, table, lengths_.length_class(), found_);
  if (queues_[found_.front()] == nullptr) {
    const std::size_t instead = engine_.in_its_place(shader, queues_);
    std::erase(found_, instead);
    found_.front() = instead;
  }
  std::erase_if(found_, [this](std::size_t each) { return queues_[each] == nullptr; });
  if (found_ == ways_) return;
  ways_.swap(found_);
  choice_.begin(ways_.size());
}

EngineQueue::Submitted AutoQueue::submit(Batch& batch) noexcept {
  if (batch.shader != shader_ || batch.table != table_) {
    know(static_cast<const SharedShader&>(*batch.shader), *batch.table);
  }
  const std::size_t member = next_member();
  const std::uint64_t bytes = shader_->has_payload() ? payload_bytes(batch) : 0;
  if (member != current_) {
    if (in_flight_ > 0) return Submitted::full;
    current_ = member;
  }
  const Shader* const own = std::exchange(batch.shader, shader_->of_members[member]);
  const bool is_a_choice = ways_.size() > 1;
  const std::uint32_t items = batch.items;
  const bool has_backlog = batch.has_backlog;
  const Submitted answer = queues_[member]->submit(batch);
  if (answer != Submitted::queued) batch.shader = own;
  if (answer == Submitted::queued) ++in_flight_;
  if (answer != Submitted::full && shader_->has_payload() && lengths_.took(bytes, items)) {
    ways_.clear();  // Rates of another class say nothing about this one.
    know(*shader_, *table_);
  }
  if (!is_a_choice) return answer;
  const std::uint64_t now = now_();
  if (answer == Submitted::full) {
    choice_.waits(now);
    return answer;
  }
  if (answer == Submitted::queued && watched_ == nullptr && choice_.way() != 0) {
    watched_ = &batch;
    watched_since_ = now;
  }
  if (choice_.took(items, has_backlog, now) || !has_begun_.load(std::memory_order_relaxed)) publish();
  return answer;
}

Batch* AutoQueue::poll() noexcept {
  if (in_flight_ == 0) return nullptr;
  Batch* const batch = queues_[current_]->poll();
  if (batch == nullptr) return nullptr;
  --in_flight_;
  if (batch == watched_) {
    choice_.came_back(now_() - watched_since_);
    watched_ = nullptr;
  }
  const bool is_of_last = batch->shader == shader_->of_members[current_];
  batch->shader = is_of_last ? shader_ : &engine_.shader_of(current_, *batch->shader);
  return batch;
}

void AutoQueue::publish() noexcept {
  if (has_begun_.load(std::memory_order_relaxed) && used_.load(std::memory_order_relaxed) != next_member()) {
    changes_.store(changes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  seen_shader_.store(shader_, std::memory_order_relaxed);
  used_.store(next_member(), std::memory_order_relaxed);
  is_heavy_.store(choice_.way() != 0, std::memory_order_relaxed);
  trials_.store(choice_.trials(), std::memory_order_relaxed);
  for (auto& each : rates_) each.store(0, std::memory_order_relaxed);
  for (std::size_t i = 0; i < ways_.size(); ++i) rates_[ways_[i]].store(choice_.rate(i), std::memory_order_relaxed);
  has_begun_.store(true, std::memory_order_relaxed);
}

std::string AutoQueue::note() const {
  if (!has_begun_.load(std::memory_order_relaxed)) return "";
  std::string line = (core_ ? "core " + std::to_string(*core_) : std::string("a worker")) + ", " +
                     seen_shader_.load(std::memory_order_relaxed)->name + ": " +
                     engine_.all()[used_.load(std::memory_order_relaxed)].name +
                     (is_heavy_.load(std::memory_order_relaxed) ? ", heavy load" : ", light load");
  std::array<char, 160> said{};
  const auto add = [&](const char* format, auto... figures) {
    std::snprintf(said.data(), said.size(), format, figures...);
    line += said.data();
  };
  add(", changed %llu times", static_cast<unsigned long long>(changes_.load(std::memory_order_relaxed)));
  add(", %llu trials", static_cast<unsigned long long>(trials_.load(std::memory_order_relaxed)));
  const char* before = "; fell behind at";
  for (std::size_t i = 0; i < rates_.size(); ++i) {
    const double rate = rates_[i].load(std::memory_order_relaxed);
    if (rate <= 0) continue;
    add("%s %.2f M items/s on %s", before, rate * 1e3, engine_.all()[i].name.c_str());
    before = ",";
  }
  return line;
}

}  // namespace penumbra::opportunistic
