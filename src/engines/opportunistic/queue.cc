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
      choice_(max_delay),
      light_(static_cast<std::size_t>(std::ranges::find_if(queues_, [](const auto& each) { return each != nullptr; }) -
                                      queues_.begin())),
      heavy_(light_),
      current_(light_),
      used_(light_) {}

AutoQueue::~AutoQueue() {
  engine_.remove(*this);
}

void AutoQueue::share(std::shared_ptr<const HugeMemory> memory) {
  for (const auto& queue : queues_) {
    if (queue != nullptr) queue->share(memory);
  }
}

void AutoQueue::know(const SharedShader& shader, const Table& table) noexcept {
  shader_ = &shader;
  table_ = &table;
  const Taken taken = engine_.taken_for(shader, table);
  light_ = queues_[taken.light] != nullptr ? taken.light : engine_.in_its_place(shader, queues_);
  heavy_ = queues_[taken.heavy] != nullptr ? taken.heavy : light_;
}

EngineQueue::Submitted AutoQueue::submit(Batch& batch) noexcept {
  if (batch.shader != shader_ || batch.table != table_) {
    know(static_cast<const SharedShader&>(*batch.shader), *batch.table);
  }
  const std::size_t member = next_member();
  if (member != current_) {
    if (in_flight_ > 0) return Submitted::full;
    current_ = member;
  }
  const Shader* const own = std::exchange(batch.shader, shader_->of_members[member]);
  const bool is_a_choice = light_ != heavy_;
  const std::uint32_t items = batch.items;
  const bool is_pressed = batch.is_pressed;
  const Submitted answer = queues_[member]->submit(batch);
  if (answer != Submitted::queued) batch.shader = own;
  if (answer == Submitted::queued) ++in_flight_;
  if (!is_a_choice) return answer;
  const std::uint64_t now = now_();
  if (answer == Submitted::full) {
    choice_.waits(now);
    return answer;
  }
  if (answer == Submitted::queued && watched_ == nullptr && choice_.is_heavy()) {
    watched_ = &batch;
    watched_since_ = now;
  }
  if (choice_.took(items, is_pressed, now) || !has_begun_.load(std::memory_order_relaxed)) publish();
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
  if (has_begun_.load(std::memory_order_relaxed) && is_heavy_.load(std::memory_order_relaxed) != choice_.is_heavy()) {
    changes_.store(changes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  seen_shader_.store(shader_, std::memory_order_relaxed);
  used_.store(next_member(), std::memory_order_relaxed);
  is_heavy_.store(choice_.is_heavy(), std::memory_order_relaxed);
  light_rate_.store(choice_.light_rate(), std::memory_order_relaxed);
  heavy_rate_.store(choice_.heavy_rate(), std::memory_order_relaxed);
  failed_.store(choice_.failed(), std::memory_order_relaxed);
  has_begun_.store(true, std::memory_order_relaxed);
}

std::string AutoQueue::note() const {
  if (!has_begun_.load(std::memory_order_relaxed)) return "";
  std::string line = (core_ ? "core " + std::to_string(*core_) : std::string("a worker")) + ", " +
                     seen_shader_.load(std::memory_order_relaxed)->name + ": " +
                     engine_.all()[used_.load(std::memory_order_relaxed)].name +
                     (is_heavy_.load(std::memory_order_relaxed) ? ", heavy load" : ", light load");
  const double light = light_rate_.load(std::memory_order_relaxed), heavy = heavy_rate_.load(std::memory_order_relaxed);
  std::array<char, 160> said{};
  const auto add = [&](const char* format, auto... figures) {
    std::snprintf(said.data(), said.size(), format, figures...);
    line += said.data();
  };
  add(", changed %llu times", static_cast<unsigned long long>(changes_.load(std::memory_order_relaxed)));
  if (light > 0) add("; fell behind at %.2f M items/s under light load", light * 1e3);
  if (heavy > 0) add(", at %.2f M under heavy load", heavy * 1e3);
  const std::uint32_t failed = failed_.load(std::memory_order_relaxed);
  if (failed > 0) add("; heavy load's engine was no better %u times in a row", failed);
  return line;
}

}  // namespace penumbra::opportunistic
