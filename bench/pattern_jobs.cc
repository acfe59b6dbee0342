// SPDX-License-Identifier: Apache-2.0
//
// Measures the search for many patterns as jobs on the engines, one thread that submits batches of 64 texts. Texts lie
// in the host's memory, which is shared with the engine.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "batches.h"
#include "bench.h"
#include "penumbra/engine.h"
#include "penumbra/huge_memory.h"
#include "penumbra/sample_input.h"
#include "pin.h"
#include "tables/patterns/patterns.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kTextBatches = 128, kTextsOfBatch = 64;
constexpr std::array<std::uint32_t, 3> kTextBytes{64, 512, 1408};
constexpr std::uint32_t kPatterns = 10'000;

/// Texts like those of traffic, and the columns of their searches.
class Texts {
 public:
  explicit Texts(std::uint32_t bytes) : bytes_(bytes), memory_(std::make_shared<HugeMemory>(kCount * bytes)) {
    const auto sample = make_sample_input("patterns");
    sample->fill_source({memory_->data(), memory_->bytes()});
    for (std::size_t i = 0; i < kCount; ++i) positions_[i] = i * bytes;
    before_.assign(kCount, PATTERNS_BEGIN);
    lengths_.assign(kCount, bytes);
  }

  const std::shared_ptr<HugeMemory>& memory() const { return memory_; }
  double bits() const { return 8.0 * static_cast<double>(memory_->bytes()); }
  std::vector<Batch> batches(const Shader& shader, const Table& table) {
    std::vector<Batch> all(kTextBatches);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t at = i * kTextsOfBatch;
      all[i].shader = &shader;
      all[i].table = &table;
      all[i].items = kTextsOfBatch;
      all[i].has_backlog = true;
      all[i].source = memory_->data();
      all[i].inputs = {&before_[at], &positions_[at], &lengths_[at]};
      all[i].outputs = {&after_[at], &found_[at]};
    }
    return all;
  }
  /// Returns what was found, and forgets it.
  std::vector<std::uint32_t> answers() {
    std::vector<std::uint32_t> all(after_);
    for (const patterns_found& each : found_) {
      all.push_back(each.count);
      all.insert(all.end(), each.set, each.set + PATTERNS_MOST_FOUND);
    }
    std::ranges::fill(after_, 0U);
    std::ranges::fill(found_, patterns_found{});
    return all;
  }

 private:
  static constexpr std::size_t kCount = kTextBatches * kTextsOfBatch;

  const std::uint32_t bytes_;
  const std::shared_ptr<HugeMemory> memory_;
  std::vector<std::uint64_t> positions_ = std::vector<std::uint64_t>(kCount);
  std::vector<std::uint32_t> before_, lengths_, after_ = std::vector<std::uint32_t>(kCount);
  std::vector<patterns_found> found_ = std::vector<patterns_found>(kCount);
};

std::vector<std::string> random_words(Random& random) {
  std::vector<std::string> words;
  for (std::uint32_t i = 0; i < kPatterns; ++i) {
    std::string& word = words.emplace_back(4 + random.below(16), ' ');
    for (char& letter : word) letter = static_cast<char>('a' + random.below(26));
  }
  return words;
}

struct OnEngine {
  std::unique_ptr<Engine> engine;
  std::unique_ptr<EngineQueue> queue;
  std::vector<Batch> batches;
};

void compare_texts(std::uint32_t bytes, PatternTable& table, const Options& options, Report& report) {
  Texts texts(bytes);
  std::vector<std::unique_ptr<OnEngine>> all;
  std::vector<Contender> turns;
  std::vector<std::uint32_t> right;
  const auto add = [&](const std::string& name, const std::string& engine, bool is_shared) {
    OnEngine& on = *all.emplace_back(std::make_unique<OnEngine>());
    on.engine = create_engine(engine);
    const Shader* const shader = on.engine->find_shader("patterns");
    if (shader == nullptr) return;
    on.engine->use_table(table.table());
    on.queue = on.engine->open_queue();
    if (is_shared) on.queue->share(texts.memory());
    on.batches = texts.batches(*shader, table.table());
    run_batches(*on.queue, on.batches, 1);
    const std::vector<std::uint32_t> answers = texts.answers();
    if (right.empty()) right = answers;
    if (answers != right) throw WrongAnswer(name + " finds other patterns than scalar");
    const std::size_t times = 1 + 2048 / bytes;
    turns.push_back({name, [&on, &texts, times] {
                       const double begin = now();
                       run_batches(*on.queue, on.batches, times);
                       return 1e-9 * static_cast<double>(times) * texts.bits() / (now() - begin);
                     }});
  };
  add("scalar", "scalar", true);
  for (const EngineInfo* const engine : engines_here()) {
    if (engine->name == "scalar" || engine->name == kAuto) continue;
    add(engine->name, engine->name, true);
    if (!engine->is_synchronous) add(engine->name + ", texts copied", engine->name, false);
  }
  report.compare(fmt::format("{} patterns in texts of {} bytes, as jobs", kPatterns, bytes), "Gbit/s",
                 interleave(turns, options.rounds), "scalar",
                 Place{{"pattern-jobs", "patterns in texts, as jobs", "text", "bytes"}, static_cast<double>(bytes)});
}

void run_pattern_jobs(const Options& options, Report& report) {
  pin_to_first_core();
  Random random(options.seed);
  NoReaders readers;
  PatternTable table(readers);
  table.publish(std::make_shared<const Patterns>(random_words(random)));
  report.input("patterns", fmt::format("{} words of 4 to 19 random letters, seed {}", kPatterns, options.seed));
  report.input("texts", "requests of HTTP");
  for (const std::uint32_t bytes : kTextBytes) compare_texts(bytes, table, options, report);
  report.checked("what every engine finds equals what scalar finds");
}

[[maybe_unused]] const bool kPatternJobs =
    register_benchmark({.name = "pattern-jobs",
                        .measurements = {"E16"},
                        .measures = "the search for many patterns in texts, as jobs on the engines",
                        .needs = "",
                        .cost = {2, 1.5},
                        .run = &run_pattern_jobs});

}  // namespace
}  // namespace penumbra::bench
