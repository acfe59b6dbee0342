// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include "gpu/bars.h"
#include "gpu/core_team.h"
#include "gpu/loads.h"
#include "gpu/measurements.h"
#include "gpu/tasks.h"
#include "pin.h"

namespace penumbra::bench::gpu {
namespace {

constexpr std::array<std::uint32_t, 8> kBatches{32, 256, 1024, 4096, 16'384, 65'536, 262'144, 1'048'576};
/// Least samples of the limit, also if there is time for one round only, so that a disturbance does not decide it.
constexpr unsigned kLeastLimits = 3;
constexpr char kOnCpu[] = "gopt", kByCopies[] = "cuda", kByMapping[] = "cuda,mapped=1";
/// A launch for each batch, or for each part of a long one, with copies in both directions, one after the other.
constexpr char kByLaunches[] = "cuda,streams=1,gather=1,mapped=0";
/// Enough blocks for the queues of all loads, which are open at the same time.
constexpr char kResident[] = "cuda-resident,slots=24,blocks=512";

/// Measures an engine's loads and the bus, by batch size; the best load counts for the engine.
void measure(const char* choice, const Bar* bar, const Task& task, const Bus& bus, const Options& options,
             Report& report) {
  // The limit is measured without the engine, because a resident kernel uses part of the bus even when idle.
  double alone = 0;
  for (unsigned round = 0; round < std::max(options.rounds, kLeastLimits); ++round) alone = std::max(alone, bus.rate());
  const OpenedEngine opened = open_engine(choice, *task.work);
  if (!opened.engine) {
    report.note(fmt::format("{}: {} is absent: {}", task.name, choice, opened.why_not));
    if (bar != nullptr) report.bar_not_shown(bar->what, opened.why_not);
    return;
  }
  // An engine's own thread needs a core too.
  const unsigned most = std::max(core_count(), 2U) - 1;
  double best = 0;
  std::deque<Load> loads;  // The last loads must exist when the engine's notes are read.
  for (const std::uint32_t items : kBatches) {
    loads.clear();
    std::vector<Contender> turns{
        {"the bus", [&bus] { return bus.rate(); }, Role::limit, fmt::format("the bus next to {}", choice)}};
    for (const unsigned threads : team_sizes({4, most}, most)) {
      Load& load = loads.emplace_back(*opened.engine, *task.work, LoadShape{.items = items, .threads = threads});
      load.check();
      turns.push_back(
          {load.name(), [&load] { return load.rate(); }, Role::ours, fmt::format("{}, {}", choice, load.team())});
    }
    const std::vector<Series> series = interleave(turns, options.rounds);
    report.compare(fmt::format("{}: look-ups by {}", task.name, choice), "M lookups/s", series, "the bus",
                   Place{{"E11", task.name, "batch"}, static_cast<double>(items)});
    for (std::size_t i = 1; i < series.size(); ++i) best = std::max(best, spread(series[i].samples).median);
  }
  report_notes(choice, *opened.engine, report);
  report.note(fmt::format("{}: the bus alone {:.0f} M lookups/s, {} at best {:.0f}", task.name, alone, choice, best));
  if (bar != nullptr) bar->tell(report, best / alone);
}

void look_up(const Options& options, const Task& task, Report& report) {
  report.input(task.name, task.description);
  const Bus bus(task.work->key_bytes(), task.work->answer_bytes());
  measure(kOnCpu, nullptr, task, bus, options, report);
  measure(kByCopies, task.by_cuda, task, bus, options, report);
  measure(kByMapping, nullptr, task, bus, options, report);
  if (task.is_the_papers) measure(kByLaunches, nullptr, task, bus, options, report);
  measure(kResident, task.by_resident, task, bus, options, report);
  report.checked(
      fmt::format("{}: every look-up of three rounds of batches of every load equals the oracle's", task.name));
}

}  // namespace

void measure_lookups(const Options& options, Report& report) {
  look_up(options, ipv4_task(options), report);
  for (const Task& task : more_tasks(options)) look_up(options, task, report);
}

}  // namespace penumbra::bench::gpu
