// SPDX-License-Identifier: Apache-2.0
//
// A worker's queue of the engine `auto`: batches go into one member's queue at a time. The queue changes members only
// when the present one has no batch in flight, so that batches come back in order. Until then submit() returns `full`.
// A change from the CPU to an accelerator never waits, since the CPU answers synchronously. A change away from an
// accelerator waits for its answers.
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
#include "opportunistic/length_watch.h"
#include "opportunistic/load_choice.h"

namespace penumbra::opportunistic {

class AutoQueue final : public EngineQueue {
 public:
  /// `queues` has the members' queues in member order; null if the member had none to give. Synchronous members always
  /// have a queue.
  AutoQueue(AutoEngine& engine, std::vector<std::unique_ptr<EngineQueue>> queues, std::optional<unsigned> core,
            std::uint64_t max_delay, Now now);
  ~AutoQueue() override;

  Submitted submit(Batch& batch) noexcept override;
  Batch* poll() noexcept override;
  int wake_descriptor() override { return in_flight_ == 0 ? -1 : queues_[current_]->wake_descriptor(); }
  bool fetches_ahead() const noexcept override { return in_use().fetches_ahead(); }
  void share(std::shared_ptr<const HugeMemory> memory) override;
  void unshare(const HugeMemory& memory) override;

  // Call these functions before the first batch.

  EngineQueue* queue_into(std::size_t member) const noexcept { return queues_[member].get(); }
  void close(std::size_t member) { queues_[member].reset(); }

  const std::optional<unsigned>& core() const noexcept { return core_; }
  /// Returns the member in use and the statistics; empty before the first batch. May be called on any thread.
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
  LengthWatch lengths_;

  const SharedShader* shader_ = nullptr;  ///< Shader of the present batches.
  const Table* table_ = nullptr;
  std::vector<std::size_t> ways_, found_;  ///< Members for the present batches, and buffer for their update.
  std::size_t current_;                    ///< Member that has the batches in flight.
  std::uint32_t in_flight_ = 0;
  const Batch* watched_ = nullptr;  ///< A batch in flight whose delay is measured.
  std::uint64_t watched_since_ = 0;

  // Published for note().
  std::atomic<const SharedShader*> seen_shader_{nullptr};
  std::atomic<std::size_t> used_;
  std::atomic<bool> is_heavy_{false}, has_begun_{false};
  std::atomic<std::uint64_t> changes_{0}, trials_{0};
  std::vector<std::atomic<double>> rates_;  ///< Rate of each member; 0 if not known.
};

}  // namespace penumbra::opportunistic
