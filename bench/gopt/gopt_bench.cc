// SPDX-License-Identifier: Apache-2.0
//
// Measures the gain of gopt, compared with hand-written techniques, for look-ups in tables inside and outside of
// caches.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>

#include "base/proc.h"
#include "bench.h"
#include "gopt/instruction_report.h"
#include "gopt/measure.h"
#include "gopt/workload.h"
#include "pin.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
constexpr std::size_t kLarge = kGiB;
constexpr std::size_t kCached = 256 * kKiB;
constexpr double kSampleSeconds = 0.1, kShortSampleSeconds = 0.05;

constexpr unsigned kRoundsOfPairs = 5;

constexpr std::uint32_t kLongChain = 100, kShortChain = 6;
constexpr std::uint32_t kItems = 1U << 20;
/// Accesses of all chains together, so many that no cache holds the lines of a large table that they read.
constexpr std::size_t kLeastAccesses = 1U << 20, kMostAccesses = 1U << 24;
constexpr std::size_t kLineBytes = 64;
constexpr std::uint32_t kPayloads = 1U << 14;

constexpr char kGopt[] = "gopt", kCalibrated[] = "gopt, calibrated";
constexpr char kLineRate[] = "line rate: as many random lines, asked for";

/// Rates of a workload's ways by name, including kCalibrated and kLineRate.
using Rates = std::map<std::string, Series>;

double median_ratio(const Rates& rates, const std::string& of, const std::string& to) {
  return spread(ratio(rates.at(of), rates.at(to)).samples).median;
}

/// Returns the role of a way: gopt's code and the plain loop are ours, also for a sorted batch; other ways are rivals.
Role role_of_way(const std::string& way) {
  return way.ends_with(kGopt) || way == kPlain ? Role::ours : Role::rival;
}

/// All ways at their best size, in the order of check_and_tune(), then gopt at its calibrated width and the line rate.
struct Measured {
  std::vector<Tuned> ways;
  std::vector<Series> series;

  /// Returns the series by curve name.
  Rates rates() const {
    Rates rates;
    for (const Series& each : series) rates[each.curve] = each;
    return rates;
  }
};

/// Checks all ways, and measures each at its best size in turn.
Measured measure_ways(Workload& workload, const std::string& title, double seconds, unsigned rounds, Report& report) {
  Measured measured{.ways = check_and_tune(workload), .series = {}};
  report.checked(title + ": every answer of every way at every width equals the oracle's");
  Calibrated calibrated(workload);
  std::vector<Contender> turns;
  for (const Tuned& tuned : measured.ways) {
    const std::string& way = tuned.way->name;
    const bool one_size = tuned.way->sizes.size() == 1;
    turns.push_back({one_size ? way : fmt::format("{}, best: {} at a time", way, tuned.size),
                     [&workload, seconds, tuned] {
                       return rate(workload, seconds,
                                   [&](std::uint32_t first) { tuned.way->run(first, workload.batch, tuned.size); });
                     },
                     role_of_way(way), way});
  }
  turns.push_back({fmt::format("{}: {} at a time", kCalibrated, calibrated.width()),
                   [&] { return rate(workload, seconds, [&](std::uint32_t first) { calibrated.run(first); }); },
                   Role::ours, kCalibrated});
  turns.push_back(
      {kLineRate, [&] { return line_rate(workload, seconds) / workload.accesses; }, Role::limit, kLineRate});
  measured.series = interleave(turns, rounds);
  return measured;
}

/// Measures a workload and reports it.
Rates measure(Workload& workload, const std::string& title, double seconds, unsigned rounds, const Place& place,
              Report& report) {
  const Measured measured = measure_ways(workload, title, seconds, rounds, report);
  report.compare(title, "M items/s/core", measured.series, kPlain, place);
  return measured.rates();
}

/// Reports the rate of gopt at its best width relative to the plain loop, as a point of a plot.
void report_gain(const std::string& title, const Rates& rates, const Place& place, Report& report) {
  Series gain = ratio(rates.at(kGopt), rates.at(kPlain));
  gain.name = gain.curve = "gopt / plain loop";
  report.compare(title + ", the gain", "times the plain loop", std::array{gain}, "", place);
}

std::string describe(const Workload& workload) {
  return fmt::format("{}; {:.2f} accesses an item; batches of {}", workload.input, workload.accesses, workload.batch);
}

/// Inputs of all workloads.
struct Inputs {
  explicit Inputs(const Options& options)
      : seed(options.seed), routes(input_table(options)), addresses(uniform_addresses(kItems, seed)) {}

  std::uint64_t seed;
  InputTable routes;
  InputAddresses addresses;
};

using Make = std::function<std::unique_ptr<Workload>(std::size_t bytes, const Inputs& inputs)>;

Make chase_of(std::uint32_t steps) {
  return [steps](std::size_t bytes, const Inputs& inputs) {
    const std::size_t lines = bytes / kLineBytes;
    const auto accesses = static_cast<std::uint32_t>(std::clamp<std::size_t>(2 * lines, kLeastAccesses, kMostAccesses));
    return make_chase(bytes, steps, accesses / steps, inputs.seed);
  };
}
std::unique_ptr<Workload> cuckoo(std::size_t bytes, const Inputs& inputs) {
  return make_cuckoo(bytes, kItems, inputs.seed);
}
std::unique_ptr<Workload> trie6(std::size_t bytes, const Inputs& inputs) {
  return make_trie6(bytes, kItems / 2, inputs.seed);
}
std::unique_ptr<Workload> names(std::size_t bytes, const Inputs& inputs) {
  return make_names(bytes, kItems, inputs.seed);
}
std::unique_ptr<Workload> memcached(std::size_t bytes, const Inputs& inputs) {
  return make_memcached(bytes, kItems, inputs.seed);
}
std::unique_ptr<Workload> aho_corasick(std::size_t bytes, const Inputs& inputs) {
  return make_aho_corasick(bytes, kPayloads, inputs.seed);
}
std::unique_ptr<Workload> ipv4(std::size_t /*bytes*/, const Inputs& inputs) {
  return make_ipv4(inputs.routes, inputs.addresses);
}

/// Makes a workload of that size, or returns null with a note if there is too little memory.
std::unique_ptr<Workload> make(const Make& maker, const std::string& kind, std::size_t bytes, const Inputs& inputs,
                               Report& report) {
  const std::size_t needed = bytes + bytes / 4 + kGiB / 2;
  const std::uint64_t available = available_memory();
  if (available == 0 || available >= needed) return maker(bytes, inputs);
  report.note(fmt::format("{} of {} is left out: {} MiB of memory are available, {} needed", kind, size_name(bytes),
                          available / kMiB, needed / kMiB));
  return nullptr;
}

void set_bars_beside_hand(const std::string& title, const Rates& rates, Report& report) {
  for (const std::string by_hand : {"group prefetching", "AMAC"}) {
    if (!rates.contains(by_hand)) continue;
    // Rounded to two decimals, because runs differ in the third.
    const double ratio = std::round(100 * median_ratio(rates, kGopt, by_hand)) / 100;
    report.bar(fmt::format("gopt / {}, both at their best, {}", by_hand, title), ratio, 1.0, true);
  }
}

/// Reports a bar for gopt relative to the plain loop, if the memory permits such a gain.
void set_bar_over_plain(const std::string& title, const Rates& rates, double wanted, Report& report) {
  const std::string what = "gopt at its best / plain loop, " + title;
  const double gain = median_ratio(rates, kGopt, kPlain), most = median_ratio(rates, kLineRate, kPlain);
  if (most < wanted && gain < wanted) {
    report.bar_not_shown(what, fmt::format("the core's line rate is {:.2f} of what the plain loop asks for, and {:.0f} "
                                           "are wanted; gopt reaches {:.2f}",
                                           most, wanted, gain));
  } else {
    report.bar(what, gain, wanted, true);
  }
}

/// Measures E6 and E7: every kind of look-up in a table of kLarge, one after the other. IPv4 has its own table.
void measure_large(const Inputs& inputs, unsigned rounds, Report& report) {
  const std::array<std::pair<std::string, Make>, 8> kinds{{{"cuckoo", &cuckoo},
                                                           {"chase of 100", chase_of(kLongChain)},
                                                           {"chase of 6", chase_of(kShortChain)},
                                                           {"IPv6 trie", &trie6},
                                                           {"IPv4", &ipv4},
                                                           {"names", &names},
                                                           {"memcached", &memcached},
                                                           {"Aho-Corasick", &aho_corasick}}};
  for (const auto& [kind, maker] : kinds) {
    const auto workload = make(maker, kind, kLarge, inputs, report);
    if (!workload) continue;
    const std::string title = kind == "IPv4" ? "IPv4, 32 MiB" : fmt::format("{}, {}", kind, size_name(kLarge));
    report.input(title, describe(*workload));
    const Measured measured = measure_ways(*workload, title, kSampleSeconds, rounds, report);
    report.compare(title, "M items/s/core", measured.series, kPlain,
                   Place{{"E6", "look-ups in tables of 1 GiB", "look-up"}, kind});
    const Rates rates = measured.rates();
    set_bars_beside_hand(title, rates, report);
    if (kind == "chase of 100") set_bar_over_plain(title, rates, 25, report);
    if (kind == "chase of 6") {
      set_bar_over_plain(title, rates, 4, report);
      report.bar("gopt at its best / the core's line rate, " + title, median_ratio(rates, kGopt, kLineRate), 0.9, true);
    }
    report_instructions(kind, *workload, measured.ways, std::span(measured.series).first(measured.ways.size()), report);
  }
}

/// Compares rates that differ by hundredths. Many pairs of samples reduce the effect of disturbances; each pair is long
/// enough for the next trial of the width.
Series calibrated_to_plain(Workload& workload, unsigned pairs) {
  Calibrated calibrated(workload);
  const Way& plain = workload.ways[0];
  const auto run_plain = [&](std::uint32_t first) { plain.run(first, workload.batch, 1); };
  const auto run_calibrated = [&](std::uint32_t first) { calibrated.run(first); };
  const std::vector<Series> series =
      interleave({{kCalibrated, [&] { return rate(workload, kSampleSeconds, run_calibrated); }},
                  {kPlain, [&] { return rate(workload, kSampleSeconds, run_plain); }}},
                 pairs);
  return ratio(series[0], series[1]);
}

void measure_cached(const Inputs& inputs, unsigned rounds, Report& report) {
  const std::array<std::tuple<std::string, Make, std::size_t>, 7> kinds{{{"chase of 1", chase_of(1), 16 * kKiB},
                                                                         {"chase of 2", chase_of(2), kCached},
                                                                         {"chase of 6", chase_of(6), 16 * kKiB},
                                                                         {"chase of 6", chase_of(6), kCached},
                                                                         {"cuckoo", &cuckoo, kCached},
                                                                         {"IPv6 trie", &trie6, kCached},
                                                                         {"names", &names, kCached}}};
  for (const auto& [kind, maker, bytes] : kinds) {
    const auto workload = maker(bytes, inputs);
    const std::string title = fmt::format("{}, {}", kind, size_name(bytes));
    report.input(title, describe(*workload));
    measure(*workload, title, kShortSampleSeconds, rounds, Place{{"E6", "tables in the cache", "look-up"}, title},
            report);
    const Series ratios = calibrated_to_plain(*workload, kRoundsOfPairs * rounds);
    report.bar("gopt at the calibrated width / plain loop, " + title, spread(ratios.samples).median, 0.97, true);
  }
}

/// Measures how the gain grows with the table.
void measure_sizes(const Inputs& inputs, unsigned rounds, Report& report) {
  const std::array<std::pair<std::string, Make>, 4> kinds{
      {{"cuckoo", &cuckoo}, {"chase of 100", chase_of(kLongChain)}, {"IPv6 trie", &trie6}, {"names", &names}}};
  for (const auto& [kind, maker] : kinds) {
    for (const std::size_t bytes : {16 * kMiB, 64 * kMiB, 256 * kMiB, 4 * kGiB}) {
      const auto workload = make(maker, kind, bytes, inputs, report);
      if (!workload) continue;
      const std::string title = fmt::format("{}, {}", kind, size_name(bytes));
      report.input(title, describe(*workload));
      const auto place = [&kind, bytes](const char* what) {
        return Place{{"E6", fmt::format("{} by the table's size{}", kind, what), "table", "B"},
                     static_cast<double>(bytes)};
      };
      const Rates rates = measure(*workload, title, kShortSampleSeconds, rounds, place(""), report);
      report_gain(title, rates, place(", the gain"), report);
    }
  }
}

/// Measures how the gain falls with the computation between two accesses. The scale is APUNet's (section 3.4): cycles
/// of the plain loop per access, with its waits; here in cycles of the time stamp counter.
void measure_work(const Inputs& inputs, unsigned rounds, Report& report) {
  constexpr std::uint32_t kSteps = 16;
  for (const std::uint32_t work : {1, 10, 30, 100, 300, 800, 1200}) {
    const std::uint32_t items = std::max(4096U, (1U << 18) / (1 + work / 10));
    const auto workload = make_chase_and_work(kLarge, kSteps, work, items, inputs.seed);
    const double items_a_second = 1e6 * rate(*workload, kShortSampleSeconds, [&](std::uint32_t first) {
                                    workload->ways[0].run(first, workload->batch, 1);
                                  });
    const double cycles = time_stamps_per_second() / (items_a_second * workload->accesses);
    const std::string title =
        fmt::format("chase of {} in {}, {:.0f} cycles of the plain loop an access", kSteps, size_name(kLarge), cycles);
    const Plot plot{"E17", fmt::format("chains of {} in {}", kSteps, size_name(kLarge)),
                    "of the plain loop for an access", "cycles"};
    report.input(title, describe(*workload));
    const Rates rates = measure(*workload, title, kShortSampleSeconds, rounds, Place{plot, std::round(cycles)}, report);
    report_gain(title, rates, Place{plot, std::round(cycles)}, report);
  }
}

/// Measures payloads that many automata search; the caches nearly hold the automata.
void measure_inspection(const Inputs& inputs, unsigned rounds, Report& report) {
  constexpr std::size_t kBytes = 300 * kMiB;
  constexpr std::uint32_t kAutomata = 450, kInspected = 8192;
  const auto workload = make(
      [](std::size_t bytes, const Inputs& from) { return make_inspection(bytes, kAutomata, kInspected, from.seed); },
      "inspection", kBytes, inputs, report);
  if (!workload) return;
  const std::string title = fmt::format("inspection, {}", size_name(kBytes));
  report.input(title, describe(*workload));
  measure(*workload, title, kSampleSeconds, rounds,
          Place{{"E10", "payloads searched by many automata", "automata"}, fmt::format("{}", kAutomata)}, report);
}

void measure_other_sizes(const Inputs& inputs, unsigned rounds, Report& report) {
  measure_cached(inputs, rounds, report);
  measure_sizes(inputs, rounds, report);
}

using MeasureGopt = void (*)(const Inputs& inputs, unsigned rounds, Report& report);

template <MeasureGopt kMeasure>
void run_gopt(const Options& options, Report& report) {
  pin_to_first_core();
  kMeasure(Inputs(options), options.rounds, report);
}

template <MeasureGopt kMeasure>
bool add_gopt(const std::vector<std::string>& measurements, const char* measures, Cost cost) {
  return register_benchmark({.name = "gopt",
                             .measurements = measurements,
                             .measures = measures,
                             .needs = "6 GB of memory",
                             .cost = cost,
                             .takes_routes = true,
                             .run = &run_gopt<kMeasure>});
}

[[maybe_unused]] const bool kGoptBenchmarks[] = {
    add_gopt<&measure_large>(
        {"E6", "E7"},
        "what gopt gains in look-ups in tables of 1 GiB, compared with code by hand; and the instructions "
        "of them, an item and a cycle",
        {113, 8}),
    add_gopt<&measure_other_sizes>({"E6"}, "what gopt gains in tables in the cache, and by the size of tables to 4 GiB",
                                   {110, 30}),
    add_gopt<&measure_inspection>({"E10"}, "payloads searched by many automata: sorted, interchanged, and by gopt",
                                  {12, 5}),
    add_gopt<&measure_work>({"E17"}, "gopt's gain by the cycles that plain code takes for an access", {14, 7})};

}  // namespace
}  // namespace penumbra::bench
