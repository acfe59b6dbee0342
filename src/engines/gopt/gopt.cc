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

/// Constructed on first use, because registrations before main() fill it.
Variants<Forms>& variants() {
  static Variants<Forms> all;
  return all;
}

/// Reads the time stamp counter without a fence.
std::uint64_t ticks() {
  return __builtin_ia32_rdtsc();
}

/// Returns the ticks between two adjacent clock readings, which is more than a short batch takes.
std::uint64_t ticks_of_reading() {
  std::uint64_t least = ~std::uint64_t{0};
  for (int i = 0; i < 64; ++i) {
    const std::uint64_t begin = ticks();
    least = std::min(least, ticks() - begin);
  }
  return least;
}

/// Result of a queue's trials for one length class. The fields are atomic because other threads read them.
struct Found {
  std::atomic<std::uint32_t> width{0};  ///< Best width; 0 if not known yet.
  std::atomic<double> gain{0};          ///< Speed relative to width 1.
  std::atomic<bool> loaded{false};      ///< True if both come from an earlier run.
};

/// Width for batches of one length class until the queue asks its WidthChoice again.
struct Steering {
  std::uint32_t width = 1;
  std::uint32_t items = 0;    ///< Items left to run at this width; 0: ask for each batch.
  std::uint32_t granted = 0;  ///< Initial value of `items`.
};

/// A queue's calibration for one pair of shader and table.
struct Calibration {
  std::atomic<const Shader*> shader{nullptr};  ///< Null if the slot is free.
  std::atomic<const Table*> table{nullptr};
  std::array<Steering, kLengthClasses> steering;
  std::atomic<unsigned> size_class{0};  ///< Table::size_class() at the time of measuring.
  std::array<Found, kLengthClasses> found;
  std::array<WidthChoice, kLengthClasses> choices;
};

class GoptQueue;

class GoptEngine final : public Engine {
 public:
  /// Uses `width` instead of a measured width; 0: measures.
  explicit GoptEngine(std::uint32_t width) : width_(width) {}
  const Shader* find_shader(const std::string& name) const override { return variants().find(name); }
  void use_table(Table& /*table*/) override {}  // The engine needs no copy: it reads the table in host memory.
  std::unique_ptr<EngineQueue> open_queue() override;
  std::vector<std::string> notes() const override;
  std::vector<EngineCalibration> calibrations() const override;
  void load_calibrations(std::vector<EngineCalibration> calibrations) override { loaded_ = std::move(calibrations); }

  void add(const GoptQueue* queue);
  void remove(const GoptQueue* queue);
  /// Returns the calibration of an earlier run, or null.
  const EngineCalibration* loaded(const Shader& shader, const Table& table) const noexcept;

 private:
  template <class Use>
  void each_calibration(Use use) const;

  const std::uint32_t width_;
  std::vector<EngineCalibration> loaded_;
  mutable std::mutex mutex_;
  std::set<const GoptQueue*> queues_;
};

/// Queue of the engine `gopt`. If it serves more pairs of shader and table than `calibrations_` has slots, the pairs
/// replace each other and are measured again each time.
class GoptQueue final : public EngineQueue {
 public:
  GoptQueue(GoptEngine& engine, std::uint32_t width) : engine_(engine), width_(width) { engine_.add(this); }
  ~GoptQueue() override { engine_.remove(this); }

  Submitted submit(Batch& batch) noexcept override {
    if (batch.shader != shader_ || batch.table != table_) know(*batch.shader, *batch.table);
    Steering& steering = current_->steering[length_class(batch.items)];
    if (batch.items <= steering.items) {
      steering.items -= batch.items;
      forms_.run(batch.table->view(), batch, steering.width);
    } else {
      ask(forms_, batch.table->view(), batch, steering);
    }
    return Submitted::done;
  }
  bool fetches_ahead() const noexcept override { return true; }
  Batch* poll() noexcept override { return nullptr; }

  const std::array<Calibration, 8>& calibrations() const { return calibrations_; }

 private:
  /// Number of items after which the table's size is checked.
  static constexpr std::uint32_t kMostGranted = 65'536;
  /// A trial splits longer batches into parts of this size, so that it does not use more items than it needs.
  static constexpr std::uint32_t kMostPart = 4096;

  /// Runs a batch whose length class has no items left at its width.
  [[gnu::noinline]] void ask(const Forms& forms, const void* view, const Batch& batch, Steering& steering) noexcept {
    if (width_ != 0 || forms.in_turns == nullptr) {
      steering.width = std::max(width_, 1U);
      steering.items = ~std::uint32_t{0};
      forms.run(view, batch, steering.width);
      return;
    }
    const std::size_t of = length_class(batch.items);
    WidthChoice& choice = current_->choices[of];
    choice.passed(steering.granted - steering.items);
    steering.granted = steering.items = 0;
    const unsigned size_class = table_->size_class();
    if (size_class != current_->size_class.load(std::memory_order_relaxed)) restart(size_class);
    if (choice.is_trial()) {
      try_widths(forms, view, batch, of);
      if (choice.is_trial()) return;
    } else {
      forms.run(view, batch, choice.chosen());
      choice.passed(batch.items);
    }
    steering.width = choice.chosen();
    steering.granted = steering.items =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(choice.left(), kMostGranted));
  }
  /// Starts all choices again, because the table's size class has changed.
  void restart(unsigned size_class) noexcept {
    current_->size_class.store(size_class, std::memory_order_relaxed);
    for (WidthChoice& each : current_->choices) each.restart();
    for (Steering& each : current_->steering) each.granted = each.items = 0;
  }
  void try_widths(const Forms& forms, const void* view, const Batch& batch, std::size_t of) noexcept {
    WidthChoice& choice = current_->choices[of];
    bool is_over = false;
    std::uint32_t done = 0;
    while (done < batch.items && !is_over) {
      const std::uint32_t left = batch.items - done;
      const Batch part = part_of(batch, done, left < 2 * kMostPart ? left : kMostPart);
      const std::uint64_t begin = ticks();
      forms.run(view, part, choice.tried());
      const std::uint64_t taken = ticks() - begin;
      is_over = choice.measured(taken - std::min(taken, reading_), part.items);
      done += part.items;
    }
    if (is_over) publish(of);
    if (done < batch.items) forms.run(view, part_of(batch, done, batch.items - done), choice.chosen());
  }
  [[gnu::noinline]] void know(const Shader& shader, const Table& table) noexcept {
    shader_ = &shader;
    table_ = &table;
    forms_ = Variants<Forms>::call_of(shader);
    for (Calibration& each : calibrations_) {
      if (each.shader.load(std::memory_order_relaxed) == &shader &&
          each.table.load(std::memory_order_relaxed) == &table) {
        current_ = &each;
        return;
      }
    }
    current_ = &calibrations_[next_++ % calibrations_.size()];
    current_->size_class.store(table.size_class(), std::memory_order_relaxed);
    const EngineCalibration* const earlier = engine_.loaded(shader, table);
    for (std::size_t i = 0; i < kLengthClasses; ++i) {
      WidthChoice& choice = current_->choices[i] = WidthChoice(i);
      current_->steering[i] = {};
      Found& found = current_->found[i];
      const bool begins_there =
          earlier != nullptr && i < earlier->figures.size() / 2 && choice.load_calibrations(earlier->figures[2 * i]);
      found.width.store(begins_there ? choice.chosen() : 0, std::memory_order_relaxed);
      found.gain.store(begins_there ? earlier->figures[2 * i + 1] : 0, std::memory_order_relaxed);
      found.loaded.store(begins_there, std::memory_order_relaxed);
    }
    current_->shader.store(&shader, std::memory_order_relaxed);
    current_->table.store(&table, std::memory_order_relaxed);
  }
  void publish(std::size_t of) noexcept {
    const WidthChoice& choice = current_->choices[of];
    Found& found = current_->found[of];
    found.gain.store(choice.plain_cost() / std::max(choice.cost(), 1e-9), std::memory_order_relaxed);
    found.width.store(choice.chosen(), std::memory_order_relaxed);
    found.loaded.store(false, std::memory_order_relaxed);
  }

  GoptEngine& engine_;
  const std::uint32_t width_;
  const std::uint64_t reading_ = ticks_of_reading();
  const Shader* shader_ = nullptr;  ///< Shader of the last batch; the next fields describe the same batch.
  const Table* table_ = nullptr;
  Forms forms_;
  Calibration* current_ = nullptr;
  std::array<Calibration, 8> calibrations_;
  std::size_t next_ = 0;
};

/// Length class of a worker's full chunks.
constexpr std::size_t kChunkClass = length_class(64);

std::string in_words(std::size_t length_class) {
  if (length_class < 2) return std::to_string(longest_of(length_class));
  const std::string shortest = std::to_string(longest_of(length_class - 1) + 1);
  if (length_class == kLengthClasses - 1) return shortest + " and more";
  return shortest + " to " + std::to_string(longest_of(length_class));
}

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

const EngineCalibration* GoptEngine::loaded(const Shader& shader, const Table& table) const noexcept {
  const unsigned size_class = table.size_class();
  for (const EngineCalibration& each : loaded_) {
    if (each.size_class == size_class && each.shader == shader.name) return &each;
  }
  return nullptr;
}

template <class Use>
void GoptEngine::each_calibration(Use use) const {
  const std::lock_guard lock(mutex_);
  for (const GoptQueue* queue : queues_) {
    for (const Calibration& calibration : queue->calibrations()) {
      const Shader* const shader = calibration.shader.load(std::memory_order_relaxed);
      if (shader != nullptr) use(*shader, calibration);
    }
  }
}

std::vector<std::string> GoptEngine::notes() const {
  if (width_ != 0) return {"width " + std::to_string(width_) + ", as it was told"};
  std::vector<std::string> lines;
  each_calibration([&lines](const Shader& shader, const Calibration& calibration) {
    const std::size_t before = lines.size();
    for (std::size_t i = 0; i < kLengthClasses; ++i) {
      const Found& found = calibration.found[i];
      const std::uint32_t width = found.width.load(std::memory_order_relaxed);
      if (width == 0) continue;
      std::array<char, 96> said{};
      std::snprintf(said.data(), said.size(), ", batches of %s: width %u, %.2f times width 1%s", in_words(i).c_str(),
                    width, found.gain.load(std::memory_order_relaxed),
                    found.loaded.load(std::memory_order_relaxed) ? " in an earlier run" : "");
      lines.push_back(shader.name + said.data());
    }
    if (lines.size() > before) return;
    const bool has_hints = Variants<Forms>::call_of(shader).in_turns != nullptr;
    lines.push_back(shader.name + (has_hints ? ": no width chosen yet" : ": has no hints, runs as it is written"));
  });
  std::ranges::stable_sort(lines, {}, [](const std::string& line) { return line.substr(0, line.find_first_of(",:")); });
  return lines;
}

std::vector<EngineCalibration> GoptEngine::calibrations() const {
  std::vector<EngineCalibration> all;
  each_calibration([&all](const Shader& shader, const Calibration& calibration) {
    const unsigned size_class = calibration.size_class.load(std::memory_order_relaxed);
    const auto is_of_same = [&](const EngineCalibration& each) {
      return each.shader == shader.name && each.size_class == size_class;
    };
    auto place = std::ranges::find_if(all, is_of_same);
    const bool is_new = place == all.end();
    EngineCalibration one{.shader = shader.name, .size_class = size_class};
    one.figures.resize(2 * kLengthClasses);
    EngineCalibration& merged = is_new ? one : *place;
    bool has_news = false;
    for (std::size_t i = 0; i < kLengthClasses; ++i) {
      const Found& found = calibration.found[i];
      const std::uint32_t width = found.width.load(std::memory_order_relaxed);
      has_news |= width != 0 && !found.loaded.load(std::memory_order_relaxed);
      if (width == 0 || merged.figures[2 * i] != 0) continue;
      merged.figures[2 * i] = width;
      merged.figures[2 * i + 1] = found.gain.load(std::memory_order_relaxed);
    }
    if (is_new && has_news) all.push_back(std::move(one));
  });
  for (EngineCalibration& each : all) {
    // Full chunks are the usual batches, so their result is reported. Without one, the nearest shorter class with a
    // result counts, else the nearest longer one.
    for (std::size_t i = 0; i < kLengthClasses && (each.value == 0 || i <= kChunkClass); ++i) {
      if (each.figures[2 * i] == 0) continue;
      each.value = static_cast<std::uint64_t>(each.figures[2 * i]);
      each.gain = each.figures[2 * i + 1];
    }
  }
  return all;
}

[[maybe_unused]] const bool kRegistered = register_engine(
    {.name = "gopt",
     .summary = "CPU code whose items take turns while memory is waited for, run by the worker itself",
     .priority = 20,
     .is_synchronous = true,
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

bool register_variant(Shader shader, Forms forms) {
  return variants().add(std::move(shader), forms);
}

}  // namespace penumbra::gopt
