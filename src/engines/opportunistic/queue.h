// SPDX-License-Identifier: Apache-2.0
//
// A worker's way through `auto`: into one member's queue at a time. Batches come back in order because another member's
// turn comes only when nothing is in flight in the one before: until then submit() says `full`. From the CPU to an
// accelerator that is never the case, since the CPU answers at once; away from an accelerator it is one of its answers'
// time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "opportunistic/engine.h"
#include "opportunistic/load_choice.h"

namespace penumbra::opportunistic {

class AutoQueue final : public EngineQueue {
 public:
  /// `queues` of the members in their order; null: that member had none to give. Those of members that answer at once
  /// are there.
  AutoQueue(AutoEngine& engine, std::vector<std::unique_ptr<EngineQueue>> queues, std::optional<unsigned> core,
            std::uint64_t max_delay, Now now);
  ~AutoQueue() override;

  Submitted submit(Batch& batch) noexcept override;
  Batch* poll() noexcept override;
  bool fetches_ahead() const noexcept override { return in_use().fetches_ahead(); }
  void share(std::shared_ptr<const HugeMemory> memory) override;

  // Before the first batch.

  EngineQueue* queue_into(std::size_t member) const noexcept { return queues_[member].get(); }
  void close(std::size_t member) { queues_[member].reset(); }

  const std::optional<unsigned>& core() const noexcept { return core_; }
  /// Which member it uses and what it has seen; empty before the first batch. Any thread.
  std::string note() const;

 private:
  void know(const SharedShader& shader, const Table& table) noexcept;
  const EngineQueue& in_use() const noexcept { return *queues_[next_member()]; }
  std::size_t next_member() const noexcept { return ways_[choice_.way()]; }
  void publish() noexcept;

  AutoEngine& engine_;
  std::vector<std::unique_ptr<EngineQueue>> queues_;
  const std::optional<unsigned> core_;
  const Now now_;
  LoadChoice choice_;

  const SharedShader* shader_ = nullptr;  ///< of the batches that come
  const Table* table_ = nullptr;
  std::vector<std::size_t> ways_, found_;  ///< members for them; room for what they become
  std::size_t current_;                    ///< the member that has what is in flight
  std::uint32_t in_flight_ = 0;
  const Batch* watched_ = nullptr;  ///< one of these, for how long it takes
  std::uint64_t watched_since_ = 0;

  // For note().
  std::atomic<const SharedShader*> seen_shader_{nullptr};
  std::atomic<std::size_t> used_;
  std::atomic<bool> is_heavy_{false}, has_begun_{false};
  std::atomic<std::uint64_t> changes_{0}, trials_{0};
  std::vector<std::atomic<double>> rates_;  ///< of each member; 0: not known
};

}  // namespace penumbra::opportunistic
