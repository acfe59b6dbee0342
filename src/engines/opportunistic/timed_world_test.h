// SPDX-License-Identifier: Apache-2.0
//
// Members of `auto` for tests that take a known time, on a clock that only they advance.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "offload/wakeup.h"
#include "opportunistic/engine.h"
#include "opportunistic/length_watch.h"
#include "penumbra/engine.h"

namespace penumbra::opportunistic {

inline std::atomic<std::uint64_t> test_clock{1};
inline std::uint64_t test_now() noexcept {
  return test_clock.load();
}

/// Returns the shader of the timed members: each item XOR the view.
inline Shader xor_shader(const std::string& name) {
  return {.name = name, .view_bytes = sizeof(std::uint32_t), .input_bytes = {4}, .output_bytes = {4}};
}

/// Returns a shader of the timed members with payload: its source, and each item XOR the view.
inline Shader payload_shader(const std::string& name) {
  return {.name = name,
          .view_bytes = sizeof(std::uint32_t),
          .input_bytes = {4, 8, 4},
          .output_bytes = {4},
          .source = PayloadColumns{.positions = 1}};
}

/// Times in nanoseconds.
struct Timing {
  bool is_synchronous = true;
  std::uint64_t of_item = 0;       ///< Worker time per item, in submit().
  std::uint64_t of_batch = 0;      ///< Worker time per batch, in submit().
  std::uint64_t of_100_bytes = 0;  ///< Worker time per 100 bytes of payload.
  std::uint64_t latency = 0;       ///< Until the answer, if it is not synchronous.
  std::uint64_t period = 0;        ///< Between answers.
  std::size_t depth = 16;          ///< Batches in flight.
  unsigned queues = 1000;          ///< Queues that the member has.
  unsigned by_core = 0;            ///< First batches that the worker's core runs, while the accelerator is not ready.
};

/// Records the use of a member.
struct Seen {
  std::atomic<std::uint64_t> batches = 0;
  unsigned queues = 0;               ///< Open at present.
  std::atomic<unsigned> shared = 0;  ///< Memories that the queues share.
  std::vector<std::string> told;
};

class TimedQueue final : public EngineQueue {
 public:
  static constexpr std::uint64_t kPoll = 10;

  TimedQueue(const Timing& timing, Seen& seen, const std::vector<Shader>& shaders)
      : timing_(timing), seen_(seen), shaders_(shaders) {
    ++seen_.queues;
  }
  ~TimedQueue() override { --seen_.queues; }

  Submitted submit(Batch& batch) noexcept override {
    if (flying_.size() == timing_.depth) return Submitted::full;
    ++seen_.batches;
    const std::uint64_t bytes = batch.shader->has_payload() ? payload_bytes(batch) : 0;
    const std::uint64_t now = test_clock +=
        timing_.of_batch + timing_.of_item * batch.items + timing_.of_100_bytes * bytes / 100;
    if (timing_.is_synchronous || by_core_ < timing_.by_core) {
      ++by_core_;
      answer(batch);
      return Submitted::done;
    }
    last_ = std::max(now + timing_.latency, last_ + timing_.period);
    flying_.push_back({&batch, last_});
    return Submitted::queued;
  }
  Batch* poll() noexcept override {
    const std::uint64_t now = test_clock += kPoll;
    if (flying_.empty() || now < flying_.front().second) return nullptr;
    Batch* const batch = flying_.front().first;
    flying_.pop_front();
    answer(*batch);
    return batch;
  }
  bool fetches_ahead() const noexcept override { return timing_.is_synchronous; }
  int wake_descriptor() override {
    if (flying_.empty()) return -1;
    test_clock = std::max(test_clock.load(), flying_.front().second);  // The time passes that a service sleeps.
    return wakeup_.arm();
  }
  void share(std::shared_ptr<const HugeMemory> /*memory*/) override { ++seen_.shared; }

 private:
  void answer(const Batch& batch) const {
    // As real engines do, checks that a shader is known by its address.
    if (batch.shader < shaders_.data() || batch.shader >= shaders_.data() + shaders_.size()) std::abort();
    const auto view = *static_cast<const std::uint32_t*>(batch.table->view());
    const auto* in = static_cast<const std::uint32_t*>(batch.inputs[0]);
    auto* out = static_cast<std::uint32_t*>(batch.outputs[0]);
    for (std::uint32_t i = 0; i < batch.items; ++i) out[i] = in[i] ^ view;
  }

  const Timing timing_;
  Seen& seen_;
  const std::vector<Shader>& shaders_;
  std::deque<std::pair<Batch*, std::uint64_t>> flying_;
  std::uint64_t last_ = 0;
  offload::Wakeup wakeup_;
  unsigned by_core_ = 0;
};

class TimedEngine final : public Engine {
 public:
  TimedEngine(Timing timing, Seen& seen, const std::vector<std::string>& shaders) : timing_(timing), seen_(seen) {
    for (const auto& name : shaders) {
      shaders_.push_back(name.starts_with("payload") ? payload_shader(name) : xor_shader(name));
    }
  }
  const Shader* find_shader(const std::string& name) const override {
    for (const Shader& each : shaders_) {
      if (each.name == name) return &each;
    }
    return nullptr;
  }
  void use_table(Table& table) override { seen_.told.push_back("uses " + table.name()); }
  void announce(const Shader& shader, const Table& table) override {
    seen_.told.push_back("expects " + shader.name + (&shader == find_shader(shader.name) ? "" : " of another") +
                         " on " + table.name());
  }
  std::unique_ptr<EngineQueue> open_queue() override {
    if (seen_.queues == timing_.queues) throw std::runtime_error("no queue is left");
    return std::make_unique<TimedQueue>(timing_, seen_, shaders_);
  }
  std::string calibration_key() const override { return "a clock"; }

 private:
  const Timing timing_;
  Seen& seen_;
  std::vector<Shader> shaders_;
};

}  // namespace penumbra::opportunistic
