// SPDX-License-Identifier: Apache-2.0
//
// Compares one core that hands its look-ups to a GPU with one that does them itself. The look-ups are of flows and
// stations, by their number (Intel's integrated GPUs, figure 5).
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "gpu/exact_work.h"
#include "gpu/loads.h"
#include "gpu/measurements.h"
#include "on_engine.h"

namespace penumbra::bench::gpu {
namespace {

constexpr std::array<std::size_t, 4> kNumbers{16'000, 250'000, 1'000'000, 4'000'000};
constexpr std::uint32_t kItems = 32;  ///< Items of a batch, as in the paper.
constexpr const char* kExactEngines[] = {"scalar", "gopt", "cuda", "cuda-resident,slots=144"};

template <class Work>
void measure_numbers(const char* what, const Options& options, Report& report) {
  const std::string title = fmt::format("{} by a GPU, by their number", what);
  for (const std::size_t number : kNumbers) {
    Work work(number, options.seed);
    std::deque<OpenedEngine> opened;
    std::deque<Load> loads;
    std::vector<Contender> turns;
    for (const char* const choice : kExactEngines) {
      OpenedEngine& on = opened.emplace_back(open_engine(choice, work));
      if (!on.engine) {
        report.note(fmt::format("{} is not measured: {}", choice, on.why_not));
        continue;
      }
      Load& load = loads.emplace_back(*on.engine, work, LoadShape{.items = kItems, .threads = 1});
      load.check();
      turns.push_back({choice, [&load] { return load.rate(); }});
    }
    report.compare(fmt::format("{}, one core, batches of {}: {} {}", title, kItems, number, what), "M lookups/s",
                   interleave(turns, options.rounds), "scalar",
                   Place{{"E22", title, what}, static_cast<double>(number)});
    for (std::size_t i = 0; i < opened.size(); ++i) {
      if (!opened[i].engine) continue;
      for (const std::string& line : opened[i].engine->notes()) require_gpu(kExactEngines[i], line);
    }
  }
}

}  // namespace

void measure_exact_matches(const Options& options, Report& report) {
  report.input("searches", fmt::format("{} at random, in batches of {} by one core, up to 128 of them in flight; of "
                                       "flows one of four is of IPv6",
                                       kExactSearches, kItems));
  measure_numbers<FlowsWork>("flows", options, report);
  measure_numbers<StationsWork>("stations", options, report);
  report.checked("every look-up of three rounds of batches of every load equals what was put into the table");
}

}  // namespace penumbra::bench::gpu
