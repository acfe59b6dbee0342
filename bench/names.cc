// SPDX-License-Identifier: Apache-2.0
//
// Measures names of Named Data Networking on one core: the shader ndn_names on every engine in a table of 10 million
// names. The shader runs alone, and with the work that the function `ndn` does for each Interest.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>

#include "base/random.h"
#include "bench.h"
#include "generated_names.h"
#include "lookup_contender.h"
#include "on_engine.h"
#include "pin.h"
#include "tables/ndn_names/name_table.h"

namespace penumbra::bench {
namespace {

constexpr std::uint32_t kNames = 10'000'000, kNextHops = 1000;
constexpr std::size_t kAsked = std::size_t{1} << 20;
constexpr std::array<std::size_t, 2> kNameBatches{64, 4096};
constexpr std::uint32_t kChangesTimed = 200'000;

/// Returns name `i` in the packet format.
std::string name_of(std::uint32_t i, std::uint64_t seed) {
  std::string name;
  for (const std::string& component : name_components(i, seed)) append_component(name, component);
  return name;
}
std::uint16_t next_hop_of(std::uint32_t i) {
  return static_cast<std::uint16_t>(i % kNextHops);
}

ndn::Bytes bytes_of(const std::string& name) {
  return {reinterpret_cast<const std::uint8_t*>(name.data()), name.size()};
}

/// Names to look up, and the right answers.
struct Asked {
  std::vector<std::string> names;
  std::vector<ndn_names_key> keys;
  std::vector<std::uint16_t> right;
};

/// Makes names that extend a name of the table by two components. Every eighth name is unknown, below an existing top
/// level.
Asked asked_names(const ndn::NameTable& table, std::uint64_t seed) {
  Random random(seed + 1);
  Asked asked;
  asked.keys.resize(kAsked);
  for (std::size_t k = 0; k < kAsked; ++k) {
    const std::uint32_t i = random.below(kNames);
    std::string name;
    if (k % 8 == 7) {
      append_component(name, fmt::format("top{}", i % kTopLevels));
      append_component(name, "nobody");
    } else {
      name = name_of(i, seed);
    }
    append_component(name, fmt::format("{:x}", random.next() >> 32));
    append_component(name, fmt::format("seg{}", random.below(100)));
    asked.right.push_back(k % 8 == 7 ? ndn::NameTable::kNoRoute : next_hop_of(i));
    table.fill(bytes_of(name), asked.keys[k]);
    asked.names.push_back(std::move(name));
  }
  return asked;
}

/// The table through an engine.
class NameLookup {
 public:
  NameLookup(const std::string& engine, ndn::NameTable& table) : table_(table), on_(engine, table.table()) {}

  const std::string& name() const { return on_.name(); }
  /// Returns the seconds that look-ups take. The keys of a batch are in the caches when its time starts, as when the
  /// function has just made them. The clock is read once per batch, without a system call.
  double pass(const Asked& asked, std::size_t batch) {
    using Clock = std::chrono::steady_clock;
    std::vector<ndn_names_key> keys(batch);
    Clock::duration time{0};
    for_each_batch(kAsked, batch, [&](std::size_t at, std::size_t count) {
      std::copy_n(asked.keys.begin() + static_cast<std::ptrdiff_t>(at), count, keys.begin());
      keep(keys.data());
      const auto begin = Clock::now();
      on_.run(keys.data(), found_.data(), count);
      keep(found_.data());
      time += Clock::now() - begin;
    });
    return std::chrono::duration<double>(time).count();
  }
  /// Returns the thread's seconds for everything that the function does: digests, look-up, comparison with the name
  /// found, and next hop.
  double whole_pass(const Asked& asked, std::size_t batch, std::uint16_t* next_hops) {
    const double begin = thread_time();
    std::vector<ndn_names_key> keys(batch);
    for_each_batch(kAsked, batch, [&](std::size_t at, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        table_.fill(bytes_of(asked.names[at + i]), keys[i]);
        table_.prefetch(keys[i]);
      }
      on_.run(keys.data(), found_.data(), count);
      for (std::size_t i = 0; i < count; ++i) table_.prefetch_node(found_[i]);
      for (std::size_t i = 0; i < count; ++i) table_.prefetch_bytes(found_[i]);
      for (std::size_t i = 0; i < count; ++i)
        next_hops[at + i] = table_.next_hop(found_[i], bytes_of(asked.names[at + i]));
    });
    return thread_time() - begin;
  }

 private:
  ndn::NameTable& table_;
  OnEngine on_;
  std::array<std::uint32_t, LookupContender::kMostBatch> found_{};
};

std::vector<std::unique_ptr<NameLookup>> name_lookups(ndn::NameTable& table) {
  std::vector<std::unique_ptr<NameLookup>> lookups;
  for (const EngineInfo* info : engines_here()) lookups.push_back(std::make_unique<NameLookup>(info->name, table));
  return lookups;
}

/// Throws WrongAnswer unless every engine gives the right answers in every batch size.
void check_names(std::span<const std::unique_ptr<NameLookup>> lookups, const Asked& asked) {
  std::vector<std::uint16_t> given(kAsked);
  for (const auto& lookup : lookups) {
    for (const std::size_t batch : kNameBatches) {
      std::ranges::fill(given, std::uint16_t{0xFFFE});
      lookup->whole_pass(asked, batch, given.data());
      const auto wrong = std::ranges::mismatch(asked.right, given);
      if (wrong.in1 == asked.right.end()) continue;
      throw WrongAnswer(fmt::format("{}: name {} leads to {}, not to {}", lookup->name(),
                                    wrong.in1 - asked.right.begin(), *wrong.in2, *wrong.in1));
    }
  }
}

/// `pass` returns the seconds that a look-up of all names takes.
template <class Pass>
void compare_names(std::span<const std::unique_ptr<NameLookup>> lookups, const std::string& what, std::size_t batch,
                   bool has_bars, unsigned rounds, Report& report, Pass pass) {
  std::vector<Contender> turns;
  for (const auto& lookup : lookups) {
    turns.push_back({lookup->name(), [&pass, lookup = lookup.get()] { return kAsked / pass(*lookup) * 1e-6; }});
  }
  const std::vector<Series> series = interleave(turns, rounds);
  const std::string title = fmt::format("{}, batches of {}", what, batch);
  const std::vector<double> ratios = report.compare(title, "M names/s/core", series, kScalarWay,
                                                    Place{{"names", what, "batch"}, static_cast<double>(batch)});
  for (std::size_t i = 0; has_bars && i < series.size(); ++i) {
    if (series[i].name != kGoptWay) continue;
    report.bar("gopt / scalar, " + title, ratios[i], 1.5, true);
    report.bar("M names/s with gopt, " + title, spread(series[i].samples).median, 20, true);
  }
}

/// Makes a table of all names, with another key if two prefixes have the same digest.
std::unique_ptr<ndn::NameTable> loaded_table(std::uint64_t seed, GracePeriods& grace_periods) {
  for (std::uint64_t key = seed;; ++key) {
    auto table = std::make_unique<ndn::NameTable>(ndn::NameKey{key, ~key}, grace_periods);
    table->reserve(kNames);
    try {
      for (std::uint32_t i = 0; i < kNames; ++i) table->insert(bytes_of(name_of(i, seed)), next_hop_of(i));
      table->commit();
      return table;
    } catch (const ndn::DigestTaken&) {
      continue;
    }
  }
}

/// Returns the names that are removed and inserted per second.
double change_rate(ndn::NameTable& table, std::uint64_t seed) {
  Random random(seed + 2);
  const double begin = thread_time();
  for (std::uint32_t change = 0; change < kChangesTimed / 2; ++change) {
    const std::uint32_t i = random.below(kNames);
    const std::string name = name_of(i, seed);
    table.remove(bytes_of(name));
    table.insert(bytes_of(name), next_hop_of(i));
    table.commit();
  }
  return kChangesTimed / (thread_time() - begin);
}

void run_names(const Options& options, Report& report) {
  pin_to_first_core();
  NoReaders no_readers;
  const double begin = thread_time();
  const auto table = loaded_table(options.seed, no_readers);
  const double load_seconds = thread_time() - begin;
  std::size_t bytes = 0;
  table->for_each([&bytes](ndn::Bytes name, std::uint16_t /*next_hop*/) { bytes += name.size(); });
  report.input("table",
               fmt::format("{} names of 2 to 4 components, {:.1f} bytes each, {} prefixes", table->size(),
                           static_cast<double>(bytes) / static_cast<double>(table->size()), table->prefixes()));
  report.note(fmt::format("{:.0f} MiB; loaded in {:.1f} s; {:.0f} thousand changes a second",
                          static_cast<double>(table->memory_bytes()) / (1 << 20), load_seconds,
                          change_rate(*table, options.seed) * 1e-3));
  const Asked asked = asked_names(*table, options.seed);
  report.input(
      "names",
      fmt::format("{} names of 4 to 6 components that extend those of the table, one of eight nobody's", kAsked));
  const auto lookups = name_lookups(*table);
  check_names(lookups, asked);
  report.checked(fmt::format("every next hop of {} contenders is right", lookups.size()));
  std::vector<std::uint16_t> next_hops(kAsked);
  for (const std::size_t batch : kNameBatches) {
    compare_names(lookups, "look-up", batch, true, options.rounds, report,
                  [&](NameLookup& lookup) { return lookup.pass(asked, batch); });
    compare_names(lookups, "digests, look-up and comparison", batch, false, options.rounds, report,
                  [&](NameLookup& lookup) { return lookup.whole_pass(asked, batch, next_hops.data()); });
  }
}

[[maybe_unused]] const bool kNamesBenchmark =
    register_benchmark({.name = "names",
                        .measures = "NDN names a second on one core: every engine in a table of 10 million names",
                        .needs = "2 GiB of memory",
                        .cost = {4, 3},
                        .takes_routes = false,
                        .run = &run_names});

}  // namespace
}  // namespace penumbra::bench
