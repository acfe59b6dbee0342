// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>
#include <vector>

#include "gpu/bars.h"
#include "gpu/core_team.h"
#include "gpu/lookup_work.h"
#include "gpu/measurements.h"
#include "gpu/piece_exchange.h"
#include "gpu/resident_exchange.h"
#include "gpu/tasks.h"
#include "percentile.h"
#include "whole_core.h"

namespace penumbra::bench::gpu {
namespace {

constexpr std::uint32_t kLookups = 32;
constexpr unsigned kLatencies = 10'000;
constexpr std::uint32_t kDepths[] = {1, 2, 4, 8, 16, 32, 72, 144};
constexpr std::uint32_t kMostDepth = 144;
constexpr std::uint64_t kBatchesOfASample =
    20'000;  ///< Batches of a sample. More in flight add batches, so that a sample takes 20 ms.
constexpr char kResidentLatencies[] = "cuda-resident,slots=144";
/// CPU engines, `cuda` by its own choice, with copies, without copies (zero copy), and a resident kernel without copies
/// (Intel).
constexpr const char* kLatencyEngines[] = {"scalar",        "gopt",          "cuda",
                                           "cuda,mapped=0", "cuda,mapped=1", kResidentLatencies};
constexpr char kByFlag[] = "bare kernel, a flag after the data";
constexpr char kByPieces[] = "bare kernel, a number in each 16 bytes";

/// Medians and 99th percentiles, one per round.
struct Latencies {
  explicit Latencies(const std::string& name, Role role = Role::ours)
      : medians{name + ", median", {}, role, "median"}, p99s{name + ", p99", {}, role, "99th percentile"} {}

  /// Measures a round: the microseconds of each call of `once`, after some unmeasured calls.
  template <class Once>
  void measure(Once once) {
    for (unsigned i = 0; i < kLatencies / 10; ++i) once();
    std::vector<double> samples(kLatencies);
    for (double& sample : samples) {
      const double begin = now();
      once();
      sample = (now() - begin) * 1e6;
    }
    medians.samples.push_back(percentile(samples, 0.5));
    p99s.samples.push_back(percentile(samples, 0.99));
  }

  Series medians, p99s;
};

Latencies of_flags(unsigned rounds) {
  ResidentExchange exchange(1, kLookups, kLookups);
  Latencies latencies(kByFlag, Role::limit);
  const Running running(exchange);
  check_answers(exchange, 1, kLookups);
  run_team(1, [&](unsigned) {
    for (unsigned round = 0; round < rounds; ++round) {
      latencies.measure([&] {
        exchange.post(0, kLookups);
        exchange.wait(0);
      });
    }
  });
  return latencies;
}

Latencies of_pieces(unsigned rounds) {
  PieceExchange exchange(kLookups);
  Latencies latencies(kByPieces, Role::limit);
  run_team(1, [&](unsigned) {
    for (const std::uint32_t first : {5U, 1'000'003U}) exchange.check(first);
    for (unsigned round = 0; round < rounds; ++round) latencies.measure([&] { exchange.once(round); });
  });
  return latencies;
}

Latencies of_engine(const std::string& choice, LookupStream& stream, unsigned rounds) {
  Latencies latencies(choice);
  run_team(1, [&](unsigned) {
    stream.check(100'000 / kLookups, 1);
    for (unsigned round = 0; round < rounds; ++round) latencies.measure([&stream] { stream.run(1, 1); });
  });
  return latencies;
}

const Plot kInFlightPlot{"E18", fmt::format("batches of {} in flight, one thread", kLookups), "batches in flight"};

/// Measures the microseconds per batch by number of batches in flight, from one thread. The samples are of a whole
/// core, if it ever is whole.
std::vector<Series> costs_in_flight(const std::string& choice, LookupStream& stream, unsigned rounds, Report& report) {
  std::vector<Series> series;
  run_team(1, [&](unsigned) {
    stream.check(kBatchesOfASample, kMostDepth);
    WholeCore core;
    std::vector<Contender> turns;
    for (const std::uint32_t in_flight : kDepths) {
      turns.push_back({fmt::format("{} in flight", in_flight), [&stream, &core, in_flight] {
                         const std::uint64_t batches = kBatchesOfASample * (1 + in_flight / 8);
                         return core.of([&] {
                           const double begin = now();
                           stream.run(batches, in_flight);
                           return (now() - begin) * 1e6 / static_cast<double>(batches);
                         });
                       }});
    }
    series = interleave(turns, rounds, FirstRound::measured);  // The check has warmed everything up.
    if (core.shared() > 0) {
      report.note(fmt::format("{}: {} of {} samples are of a core that was not whole in {} trials", choice,
                              core.shared(), core.samples(), WholeCore::kMostCalls));
    }
  });
  return series;
}

void tell_of_absence(const std::string& choice, const std::string& why, Report& report) {
  report.note(fmt::format("{} is absent: {}", choice, why));
  if (choice != kResidentLatencies) return;
  for (const Bar* bar : {&kResidentMedian, &kResidentP99, &kResidentBatch}) report.bar_not_shown(bar->what, why);
}

void measure(const std::string& choice, LookupWork& work, unsigned rounds, std::vector<Series>& all, Report& report) {
  const OpenedEngine opened = open_engine(choice, work);
  if (!opened.engine) return tell_of_absence(choice, opened.why_not, report);
  LookupStream stream(*opened.engine, work, kLookups, kMostDepth, 0);
  const Latencies latencies = of_engine(choice, stream, rounds);
  all.insert(all.end(), {latencies.medians, latencies.p99s});
  const std::vector<Series> costs = costs_in_flight(choice, stream, rounds, report);
  Places places{kInFlightPlot, choice, {}};
  for (const std::uint32_t depth : kDepths) places.at.emplace_back(static_cast<double>(depth));
  report.compare(fmt::format("batches of {} by {}, one thread", kLookups, choice), "us a batch", costs, "1 in flight",
                 places);
  report_notes(choice, *opened.engine, report);
  if (choice != kResidentLatencies) return;
  kResidentMedian.tell(report, spread(latencies.medians.samples).median);
  kResidentP99.tell(report, spread(latencies.p99s.samples).median);
  kResidentBatch.tell(report, spread(costs.back().samples).median);
}

}  // namespace

void measure_latencies(const Options& options, Report& report) {
  const Task task = ipv4_task(options);
  report.input(task.name, task.description);
  LookupWork& work = *task.work;
  std::vector<Series> all;
  for (const auto of : {&of_pieces, &of_flags}) {
    const Latencies bare = of(options.rounds);
    all.insert(all.end(), {bare.medians, bare.p99s});
  }
  for (const std::string choice : kLatencyEngines) measure(choice, work, options.rounds, all, report);
  report.checked("every look-up of 100,000 one batch at a time and of 20,000 batches in flight equals the oracle's");
  const std::string title = fmt::format("{} look-ups from submit to result, one batch at a time", kLookups);
  Places places{{"E18", title, "way"}, "", {}};
  for (const Series& each : all) places.at.emplace_back(each.name.substr(0, each.name.rfind(", ")));
  report.compare(title, "us", all, "", places);
}

}  // namespace penumbra::bench::gpu
