// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "penumbra/engine.h"
#include "runtime/test_support.h"

namespace penumbra::runtime::test {
namespace {

std::atomic<std::uint64_t> reordered{0};
std::atomic<std::uint64_t> full{0};

enum class Hang : std::uint8_t { no, wanted, hangs };
std::atomic<Hang> hang{Hang::no};

const Shader kShader{.name = "test_shader",
                     .view_bytes = sizeof(std::uint32_t),
                     .input_bytes = {sizeof(std::uint32_t)},
                     .output_bytes = {sizeof(std::uint32_t)}};

/// Runs the shader: XORs each item with the view.
void shade(const Batch& batch) {
  const auto view = *static_cast<const std::uint32_t*>(batch.table->view());
  const auto* in = static_cast<const std::uint32_t*>(batch.inputs[0]);
  auto* out = static_cast<std::uint32_t*>(batch.outputs[0]);
  for (std::uint32_t i = 0; i < batch.items; ++i) out[i] = in[i] ^ view;
}

class SyncQueue final : public EngineQueue {
 public:
  Submitted submit(Batch& batch) noexcept override {
    shade(batch);
    return Submitted::done;
  }
  Batch* poll() noexcept override { return nullptr; }
};

class StuckQueue final : public EngineQueue {
 public:
  Submitted submit(Batch& batch) noexcept override {
    Hang wanted = Hang::wanted;
    if (hang.compare_exchange_strong(wanted, Hang::hangs)) hang.wait(Hang::hangs);
    shade(batch);
    return Submitted::done;
  }
  Batch* poll() noexcept override { return nullptr; }
};

struct Watching {
  std::atomic<std::uint64_t> whole{0}, whole_with_backlog{0}, smaller{0}, smaller_with_backlog{0}, ahead{0};
} watching;

class WatchQueue final : public EngineQueue {
 public:
  Submitted submit(Batch& batch) noexcept override {
    const bool is_whole = batch.items == Chunk::kCapacity;
    ++(is_whole ? watching.whole : watching.smaller);
    if (batch.has_backlog) ++(is_whole ? watching.whole_with_backlog : watching.smaller_with_backlog);
    ++batches_;
    shade(batch);
    return Submitted::done;
  }
  bool fetches_ahead() const noexcept override {
    if (batches_ % 2 == 0) return false;
    ++watching.ahead;
    return true;
  }
  Batch* poll() noexcept override { return nullptr; }

 private:
  std::uint64_t batches_ = 0;
};

class AsyncQueue final : public EngineQueue {
 public:
  Submitted submit(Batch& batch) noexcept override {
    constexpr std::size_t kDepth = 12;
    if (queued_.size() == kDepth || one_in(8)) {
      full.fetch_add(1);
      return Submitted::full;
    }
    if (one_in(10)) {
      shade(batch);
      return Submitted::done;
    }
    queued_.push_back({&batch, false});
    return Submitted::queued;
  }

  Batch* poll() noexcept override {
    if (!queued_.empty() && !one_in(3)) {
      auto& any = queued_[random_() % queued_.size()];
      if (!any.done) {
        shade(*any.batch);
        any.done = true;
        if (!queued_.front().done) reordered.fetch_add(1);
      }
    }
    if (queued_.empty() || !queued_.front().done) return nullptr;
    Batch* batch = queued_.front().batch;
    queued_.pop_front();
    return batch;
  }

 private:
  struct Entry {
    Batch* batch;
    bool done;
  };
  bool one_in(unsigned n) { return random_() % n == 0; }
  std::deque<Entry> queued_;
  std::mt19937 random_{7};
};

/// Keeps the last batch until it was polled many times. While chunks keep arriving, one batch is always in flight.
class HoarderQueue final : public EngineQueue {
 public:
  Submitted submit(Batch& batch) noexcept override {
    constexpr std::size_t kDepth = 4;
    if (queued_.size() == kDepth) return Submitted::full;
    shade(batch);
    queued_.push_back(&batch);
    asked_ = 0;
    return Submitted::queued;
  }

  Batch* poll() noexcept override {
    constexpr unsigned kPatience = 100;
    if (queued_.empty() || (queued_.size() == 1 && ++asked_ < kPatience)) return nullptr;
    Batch* batch = queued_.front();
    queued_.pop_front();
    return batch;
  }

 private:
  std::deque<Batch*> queued_;
  unsigned asked_ = 0;
};

template <class Queue>
class TestEngine final : public Engine {
 public:
  const Shader* find_shader(const std::string& name) const override {
    return name == kShader.name ? &kShader : nullptr;
  }
  void use_table(Table& table) override { notes_.push_back("uses " + table.name()); }
  void announce(const Shader& shader, const Table& table) override {
    notes_.push_back("expects " + shader.name + " on " + table.name());
  }
  std::unique_ptr<EngineQueue> open_queue() override { return std::make_unique<Queue>(); }
  std::unique_ptr<EngineQueue> open_queue_for(unsigned core) override {
    notes_.push_back("a queue for core " + std::to_string(core));
    return open_queue();
  }
  void load_calibrations(std::vector<EngineCalibration> calibrations) override {
    notes_.push_back("recalls " + std::to_string(calibrations.size()));
  }
  std::vector<std::string> notes() const override { return notes_; }
  std::vector<EngineCalibration> calibrations() const override { return {{.shader = kShader.name, .value = 3}}; }
  std::string calibration_key() const override { return "made for tests"; }

 private:
  std::vector<std::string> notes_;  ///< Calls that the engine received.
};

class EngineWithout final : public Engine {
 public:
  const Shader* find_shader(const std::string& /*name*/) const override { return nullptr; }
  void use_table(Table& /*table*/) override {}
  std::unique_ptr<EngineQueue> open_queue() override { return nullptr; }
};

template <class Made, bool kIsHere = true>
bool add_engine(const char* name, int priority, bool is_synchronous) {
  return register_engine(
      {.name = name,
       .summary = "for tests",
       .priority = priority,
       .is_synchronous = is_synchronous,
       .settings = {},
       .probe =
           [] { return kIsHere ? Availability{true, "always"} : Availability{false, "there is none in this test"}; },
       .create = [](const EngineSettings&) -> std::unique_ptr<Engine> { return std::make_unique<Made>(); }});
}

[[maybe_unused]] const bool kTestEngines =
    add_engine<TestEngine<SyncQueue>>(kSync, 2, true) && add_engine<TestEngine<AsyncQueue>>(kAsync, 1, false) &&
    add_engine<TestEngine<HoarderQueue>>(kHoarder, 0, false) && add_engine<TestEngine<StuckQueue>>(kStuck, -1, true) &&
    add_engine<TestEngine<WatchQueue>>(kWatch, -2, true) && add_engine<EngineWithout>(kWithout, 1000, false) &&
    add_engine<EngineWithout, false>(kAbsent, 1001, false);

}  // namespace

std::uint64_t batches_reordered() {
  return reordered.load();
}
Watched watched() {
  return {watching.whole, watching.whole_with_backlog, watching.smaller, watching.smaller_with_backlog, watching.ahead};
}
std::uint64_t times_full() {
  return full.load();
}
void let_one_worker_hang() {
  hang = Hang::wanted;
  while (hang.load() != Hang::hangs) std::this_thread::yield();
}
void let_it_go_on() {
  hang = Hang::no;
  hang.notify_all();
}

}  // namespace penumbra::runtime::test
