// SPDX-License-Identifier: Apache-2.0
#include "gopt/gopt.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>
#include <utility>

#include "batch_part.h"
#include "gopt/width_choice.h"
#include "penumbra/engine.h"
#include "variants.h"

namespace penumbra::gopt {
namespace {

/// Filled before main() begins, so made when it is first asked for.
Variants<Call>& variants() {
  static Variants<Call> all;
  return all;
}

/// Reads the time stamp counter, without a fence.
std::uint64_t ticks() {
  return __builtin_ia32_rdtsc();
}

/// What a queue has found out of a shader and a table; the atomics are for whoever asks meanwhile.
struct Finding {
  std::atomic<const Shader*> shader{nullptr};  ///< null: the place is free
  std::atomic<const Table*> table{nullptr};
  std::atomic<std::uint32_t> width{0};  ///< 0: not known yet
  std::atomic<double> gain{0};          ///< over width 1
  std::atomic<bool> recalled{false};    ///< both are from an earlier run
  std::atomic<unsigned> size_class{0};  ///< of the table, when it was measured
  WidthChoice choice;
};

class GoptQueue;

class GoptEngine final : public Engine {
 public:
  /// `width` in place of the one that is measured; 0: none.
  explicit GoptEngine(std::uint32_t width) : width_(width) {}
  const Shader* find_shader(const std::string& name) const override { return variants().find(name); }
  void use_table(Table& /*table*/) override {}  // host memory is where it runs
  std::unique_ptr<EngineQueue> open_queue() override;
  std::vector<std::string> notes() const override;
  std::vector<EngineFinding> findings() const override;
  void recall(std::vector<EngineFinding> findings) override { recalled_ = std::move(findings); }

  void add(const GoptQueue* queue);
  void remove(const GoptQueue* queue);
  /// Of an earlier run; null: none.
  const EngineFinding* recalled(const Shader& shader, const Table& table) const noexcept;

 private:
  template <class Use>
  void each_finding(Use use) const;

  const std::uint32_t width_;
  std::vector<EngineFinding> recalled_;
  mutable std::mutex mutex_;
  std::set<const GoptQueue*> queues_;
};

/// More pairs of shader and table than a queue has places for take turns in them, and are measured anew each time.
class GoptQueue final : public EngineQueue {
 public:
  GoptQueue(GoptEngine& engine, std::uint32_t width) : engine_(engine), width_(width) { engine_.add(this); }
  ~GoptQueue() override { engine_.remove(this); }

  Submitted submit(Batch& batch) noexcept override {
    const Call call = Variants<Call>::call_of(*batch.shader);
    const void* const view = batch.table->view();
    if (width_ != 0) {
      call(view, batch, width_);
      return Submitted::done;
    }
    Finding& finding = finding_of(*batch.shader, *batch.table);
    if (finding.choice.measures(batch.items)) {
      try_widths(call, view, batch, finding);
    } else {
      call(view, batch, finding.choice.chosen());
    }
    return Submitted::done;
  }
  bool fetches_ahead() const noexcept override { return true; }
  Batch* poll() noexcept override { return nullptr; }

  const std::array<Finding, 8>& findings() const { return findings_; }

 private:
  /// Part by part, so that a trial takes no more of long batches than of short ones. None is too short to be measured.
  static void try_widths(Call call, const void* view, const Batch& batch, Finding& finding) noexcept {
    bool is_over = false;
    std::uint32_t done = 0;
    while (done < batch.items && !is_over) {
      const std::uint32_t left = batch.items - done;
      const Batch part = part_of(batch, done, left < 2 * WidthChoice::kSampleItems ? left : WidthChoice::kSampleItems);
      const std::uint64_t begin = ticks();
      call(view, part, finding.choice.tried());
      is_over = finding.choice.measured(ticks() - begin, part.items);
      done += part.items;
    }
    if (is_over) publish(finding, *batch.table);
    if (done < batch.items) call(view, part_of(batch, done, batch.items - done), finding.choice.chosen());
  }
  Finding& finding_of(const Shader& shader, const Table& table) noexcept {
    for (Finding& each : findings_) {
      if (each.shader.load(std::memory_order_relaxed) == &shader &&
          each.table.load(std::memory_order_relaxed) == &table) {
        return each;
      }
    }
    Finding& place = findings_[next_++ % findings_.size()];
    place.width.store(0, std::memory_order_relaxed);
    place.choice = WidthChoice();
    const EngineFinding* const earlier = engine_.recalled(shader, table);
    const bool begins_there = earlier != nullptr && place.choice.recall(earlier->value);
    place.recalled.store(begins_there, std::memory_order_relaxed);
    if (begins_there) {
      place.gain.store(earlier->gain, std::memory_order_relaxed);
      place.width.store(place.choice.chosen(), std::memory_order_relaxed);
    }
    place.shader.store(&shader, std::memory_order_relaxed);
    place.table.store(&table, std::memory_order_relaxed);
    return place;
  }
  static void publish(Finding& finding, const Table& table) noexcept {
    finding.size_class.store(table.size_class(), std::memory_order_relaxed);
    finding.gain.store(finding.choice.plain_cost() / std::max(finding.choice.cost(), 1e-9), std::memory_order_relaxed);
    finding.width.store(finding.choice.chosen(), std::memory_order_relaxed);
    finding.recalled.store(false, std::memory_order_relaxed);
  }

  GoptEngine& engine_;
  const std::uint32_t width_;
  std::array<Finding, 8> findings_;
  std::size_t next_ = 0;
};

std::unique_ptr<EngineQueue> GoptEngine::open_queue() {
  return std::make_unique<GoptQueue>(*this, width_);
}

void GoptEngine::add(const GoptQueue* queue) {
  const std::lock_guard lock(mutex_);
  queues_.insert(queue);
}

void GoptEngine::remove(const GoptQueue* queue) {
  const std::lock_guard lock(mutex_);
  queues_.erase(queue);
}

const EngineFinding* GoptEngine::recalled(const Shader& shader, const Table& table) const noexcept {
  const unsigned size_class = table.size_class();
  for (const EngineFinding& each : recalled_) {
    if (each.size_class == size_class && each.shader == shader.name) return &each;
  }
  return nullptr;
}

template <class Use>
void GoptEngine::each_finding(Use use) const {
  const std::lock_guard lock(mutex_);
  for (const GoptQueue* queue : queues_) {
    for (const Finding& finding : queue->findings()) {
      const Shader* const shader = finding.shader.load(std::memory_order_relaxed);
      if (shader != nullptr) use(*shader, finding);
    }
  }
}

std::vector<std::string> GoptEngine::notes() const {
  if (width_ != 0) return {"width " + std::to_string(width_) + ", as it was told"};
  std::vector<std::string> lines;
  each_finding([&lines](const Shader& shader, const Finding& finding) {
    const std::uint32_t width = finding.width.load(std::memory_order_relaxed);
    std::array<char, 64> said{};
    std::snprintf(said.data(), said.size(), width == 0 ? ": no width chosen yet" : ": width %u, %.2f times width 1%s",
                  width, finding.gain.load(std::memory_order_relaxed),
                  finding.recalled.load(std::memory_order_relaxed) ? " in an earlier run" : "");
    lines.push_back(shader.name + said.data());
  });
  std::ranges::sort(lines);
  return lines;
}

std::vector<EngineFinding> GoptEngine::findings() const {
  std::vector<EngineFinding> found;
  each_finding([&found](const Shader& shader, const Finding& finding) {
    const std::uint32_t width = finding.width.load(std::memory_order_relaxed);
    if (width == 0 || finding.recalled.load(std::memory_order_relaxed)) return;
    found.push_back({.shader = shader.name,
                     .size_class = finding.size_class.load(std::memory_order_relaxed),
                     .value = width,
                     .gain = finding.gain.load(std::memory_order_relaxed)});
  });
  return found;
}

[[maybe_unused]] const bool kRegistered = register_engine(
    {.name = "gopt",
     .summary = "CPU code whose items take turns while memory is waited for, run by the worker itself",
     .priority = 20,
     .at_once = true,
     .settings = {{.name = "width",
                   .least = 1,
                   .most = 256,
                   .summary = "how many items take turns; not measured then",
                   .tested = {1, 2, 7, 16, 64, 256}}},
     .probe = [] { return Availability{true, "any CPU"}; },
     .create = [](const EngineSettings& settings) -> std::unique_ptr<Engine> {
       const auto width = settings.find("width");
       return std::make_unique<GoptEngine>(width == settings.end() ? 0U : static_cast<std::uint32_t>(width->second));
     }});

}  // namespace

bool register_variant(Shader shader, Call call) {
  return variants().add(std::move(shader), call);
}

}  // namespace penumbra::gopt
