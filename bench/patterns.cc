// SPDX-License-Identifier: Apache-2.0
//
// Measures the search for many patterns in payloads on one core, with Hyperscan for comparison.
#include "tables/patterns/patterns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "bench.h"
#include "functions/ids/detect/hyperscan.h"
#include "on_engine.h"
#include "percentile.h"
#include "pin.h"

namespace penumbra::bench {
namespace {

constexpr std::uint32_t kPayloads = 2048, kPayloadBytes = 1460, kPayloadsOfABatch = 64;
constexpr std::array<std::size_t, 3> kNumbersOfPatterns{300, 2500, 7500};
constexpr char kHyperscan[] = "hyperscan";
/// The engine that `auto` takes on a core. It chooses between the forms of the search.
constexpr char kChoosing[] = "gopt";
constexpr double kWorstOfBest = 1.0 / 3;
/// Runs of all payloads in which the engine chooses for a content.
constexpr unsigned kChoosingRuns = 24;

std::string random_bytes(Random& random, std::size_t count) {
  std::string bytes(count, ' ');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

/// Returns a word whose letters are as frequent as in English.
std::string random_word(Random& random) {
  constexpr std::string_view kLetters =
      "eeeeeeeeeeeetttttttttaaaaaaaaooooooooiiiiiiinnnnnnnsssssshhhhhhrrrrrrddddllll"
      "cccuuummmwwffggyyppbvk";
  std::string word(2 + random.below(8), ' ');
  for (char& letter : word) letter = kLetters[random.below(static_cast<std::uint32_t>(kLetters.size()))];
  return word;
}

std::string random_text(Random& random, std::size_t count) {
  std::string text;
  while (text.size() < count) text += random_word(random) + " /=.&"[random.below(5)];
  text.resize(count);
  return text;
}

/// Most patterns are text, as those of rules are; every eighth is binary.
std::vector<std::string> make_patterns(Random& random, std::size_t count) {
  std::set<std::string> patterns;
  while (patterns.size() < count) {
    const std::size_t bytes = 4 + random.below(16);
    patterns.insert(random.below(8) == 0 ? random_bytes(random, bytes) : random_text(random, bytes));
  }
  return {patterns.begin(), patterns.end()};
}

struct Content {
  std::string name;
  std::string bytes;  ///< The bytes of all payloads, one after the other.
};

std::vector<Content> make_contents(Random& random, const std::vector<std::string>& patterns) {
  constexpr std::size_t kBytes = std::size_t{kPayloads} * kPayloadBytes;
  std::string dense;
  while (dense.size() < kBytes) dense += patterns[random.below(static_cast<std::uint32_t>(patterns.size()))];
  dense.resize(kBytes);
  return {{"random bytes", random_bytes(random, kBytes)},
          {"text", random_text(random, kBytes)},
          {"nothing but patterns", dense}};
}

/// The payloads of a content as columns of the shader.
class PatternBatches {
 public:
  explicit PatternBatches(const Content& content)
      : before_(kPayloads, PATTERNS_BEGIN), lengths_(kPayloads, kPayloadBytes), after_(kPayloads), found_(kPayloads) {
    for (std::uint32_t i = 0; i < kPayloads; ++i) {
      positions_.push_back(position_of(content.bytes.data() + std::size_t{i} * kPayloadBytes, payload_base()));
    }
  }

  void run(OnEngine& engine) {
    for (std::uint32_t begin = 0; begin < kPayloads; begin += kPayloadsOfABatch) {
      Batch batch;
      batch.items = kPayloadsOfABatch;
      batch.source = payload_base();
      batch.inputs = {&before_[begin], &positions_[begin], &lengths_[begin]};
      batch.outputs = {&after_[begin], &found_[begin]};
      engine.run(batch);
    }
  }
  const patterns_found& found(std::uint32_t payload) const { return found_[payload]; }

 private:
  std::vector<std::uint32_t> before_, lengths_;
  std::vector<std::uint64_t> positions_;
  std::vector<std::uint32_t> after_;
  std::vector<patterns_found> found_;
};

std::span<const std::uint8_t> payload_of(const Content& content, std::uint32_t payload) {
  return {reinterpret_cast<const std::uint8_t*>(content.bytes.data()) + std::size_t{payload} * kPayloadBytes,
          kPayloadBytes};
}

/// Throws WrongAnswer unless an engine finds what the automaton finds alone. Of more sets than are listed, each listed
/// one must be right.
void check_engine(const Patterns& patterns, const Content& content, const PatternBatches& batches) {
  for (std::uint32_t i = 0; i < kPayloads; ++i) {
    std::set<std::uint32_t> right;
    patterns.search(payload_of(content, i), [&right](std::uint32_t set) { right.insert(set); });
    const patterns_found& found = batches.found(i);
    const std::uint32_t listed = std::min<std::uint32_t>(found.count, PATTERNS_MOST_FOUND);
    const bool is_counted = found.count <= PATTERNS_MOST_FOUND ? right.size() == found.count : right.size() >= listed;
    if (!is_counted || !std::all_of(found.set, found.set + listed, [&](auto set) { return right.contains(set); })) {
      throw WrongAnswer("an engine finds other patterns in " + content.name);
    }
  }
}

void check_hyperscan(const Patterns& patterns, const Content& content, const ids::Hyperscan& hyperscan,
                     ids::HyperscanScratch& scratch) {
  for (std::uint32_t i = 0; i < kPayloads; ++i) {
    std::set<std::uint32_t> right;
    patterns.search(payload_of(content, i), [&](std::uint32_t set) {
      const auto members = patterns.patterns_of(set);
      right.insert(members.begin(), members.end());
    });
    if (!hyperscan.search(payload_of(content, i), scratch) ||
        std::set<std::uint32_t>(scratch.found().begin(), scratch.found().end()) != right) {
      throw WrongAnswer("Hyperscan finds other patterns in " + content.name);
    }
  }
}

void compare_patterns(std::size_t count, const Options& options, Random& random, Report& report) {
  const std::vector<std::string> texts = make_patterns(random, count);
  NoReaders readers;
  PatternTable table(readers);
  table.publish(std::make_shared<const Patterns>(texts));
  const Patterns& patterns = *table.patterns();
  const bool has_hyperscan = ids::Hyperscan::why_unavailable().empty();
  const auto hyperscan = has_hyperscan ? std::make_unique<ids::Hyperscan>(texts) : nullptr;
  const auto scratch = has_hyperscan ? hyperscan->make_scratch() : nullptr;
  std::vector<double> rates;  // of kChoosing, by content
  for (const Content& content : make_contents(random, texts)) {
    // A content that lasts: each engine begins with it.
    std::vector<OnEngine> engines;
    for (const char* const name : {"scalar,avx512=0", "scalar", kChoosing}) engines.emplace_back(name, table.table());
    PatternBatches batches(content);
    std::vector<Contender> turns;
    const auto gigabits = [&content](const auto& search) {
      const double begin = thread_time();
      search();
      return static_cast<double>(content.bytes.size()) * 8 / (thread_time() - begin) / 1e9;
    };
    for (OnEngine& engine : engines) {
      if (!engine.has_shader()) continue;
      batches.run(engine);
      check_engine(patterns, content, batches);
      for (unsigned i = 0; i < kChoosingRuns; ++i) batches.run(engine);
      turns.push_back({engine.name(), [&] { return gigabits([&] { batches.run(engine); }); }, Role::ours});
    }
    if (has_hyperscan) {
      check_hyperscan(patterns, content, *hyperscan, *scratch);
      turns.push_back({kHyperscan,
                       [&] {
                         return gigabits([&] {
                           for (std::uint32_t i = 0; i < kPayloads; ++i) {
                             hyperscan->search(payload_of(content, i), *scratch);
                           }
                         });
                       },
                       Role::rival});
    }
    const std::vector<Series> series = interleave(turns, options.rounds);
    for (const Series& each : series) {
      std::vector<double> samples = each.samples;
      if (each.name == engines.back().name()) rates.push_back(percentile(samples, 0.5));
    }
    report.compare(fmt::format("{} patterns, {}", count, content.name), "Gbit/s/core", series,
                   has_hyperscan ? kHyperscan : turns.front().name);
  }
  if (rates.empty()) return;
  const auto [worst, best] = std::ranges::minmax(rates);
  report.bar(fmt::format("{} patterns: {} on the worst content / on the best", count, kChoosing), worst / best,
             kWorstOfBest, true);
}

void run_patterns(const Options& options, Report& report) {
  pin_to_first_core();
  Random random(options.seed);
  report.input("payloads", fmt::format("{} of {} bytes, searched without regard to case", kPayloads, kPayloadBytes));
  if (const std::string lack = ids::Hyperscan::why_unavailable(); !lack.empty()) report.note("no Hyperscan: " + lack);
  for (const std::size_t count : kNumbersOfPatterns) compare_patterns(count, options, random, report);
  report.checked("all contenders find the patterns that the automaton finds alone");
}

[[maybe_unused]] const bool kPatternsBenchmark =
    register_benchmark({.name = "patterns",
                        .measures = "the search for patterns of rules in payloads on one core, compared with Hyperscan",
                        .needs = "libhyperscan5 for the comparison",
                        .cost = {10, 4},
                        .run = &run_patterns});

}  // namespace
}  // namespace penumbra::bench
