// SPDX-License-Identifier: Apache-2.0
//
// Measures packet classification by a GPU, copies included, while one property of the rules varies (GSwitch, figures 5
// to 9).
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/core_team.h"
#include "gpu/loads.h"
#include "gpu/measurements.h"
#include "gpu/rule_work.h"
#include "pin.h"
#include "rule_knobs.h"
#include "tables/rules/rule_structures.h"

namespace penumbra::bench::gpu {
namespace {

constexpr std::size_t kKnobHeaders = std::size_t{1} << 18;
constexpr std::uint32_t kKnobBatch = 65'536;
constexpr unsigned kMostKnobThreads = 8;
constexpr double kSampleSeconds = 0.05;
constexpr char kEngine[] = "cuda";
/// Structures of the paper.
constexpr const char* kStructures[] = {"linear", "tuple", "bloom"};

struct KnobPlace {
  const KnobSweep& sweep;
  const KnobSetting& setting;
  unsigned threads;
};

/// Returns the paper's structures that take part at a point.
std::vector<const RuleStructure*> structures_at(const KnobPlace& place) {
  std::vector<const RuleStructure*> all;
  for (const RuleStructure& structure : rule_structures()) {
    const bool is_papers = std::ranges::find(kStructures, structure.name) != std::end(kStructures);
    if (is_papers && has_turn(structure, place.sweep, place.setting)) all.push_back(&structure);
  }
  return all;
}

/// Measures only copies of headers to the GPU and of answers back: the limit at all points with such rules.
Series bus_of(RuleFields fields, unsigned rounds) {
  const Bus bus(key_bytes_of(fields), sizeof(std::uint32_t));
  Series series{"the bus", {}, Role::limit};
  for (unsigned round = 0; round < rounds; ++round) series.samples.push_back(bus.rate());
  return series;
}

/// Measures all structures on one engine in turn, and the bus.
void measure(const KnobPlace& place, const Series& bus, const Options& options, Report& report) {
  const std::string title = fmt::format("{}, by a GPU", place.sweep.title);
  const std::string name = fmt::format("{}: {:g} {}", title, place.setting.at, place.sweep.axis);
  const RuleTask task = make_rule_task(name, place.setting.rules, kKnobHeaders);
  const std::vector<std::uint32_t> right = right_answers(task, options.seed);
  const std::vector<const RuleStructure*> structures = structures_at(place);
  std::deque<RuleWork> works;
  for (const RuleStructure* structure : structures) {
    works.emplace_back([&](GracePeriods& periods) { return make_table(*structure, place.setting, periods); }, task,
                       right);
  }
  const OpenedEngine opened = open_engine(kEngine, works.front());
  if (!opened.engine) throw std::runtime_error(fmt::format("{} is absent: {}", kEngine, opened.why_not));
  for (std::size_t i = 1; i < works.size(); ++i) opened.engine->use_table(works[i].penumbra_table());
  const LoadShape shape{.items = static_cast<std::uint32_t>(place.setting.batch.value_or(kKnobBatch)),
                        .threads = place.threads,
                        .seconds = kSampleSeconds};
  std::deque<Load> loads;
  std::vector<Contender> turns;
  for (std::size_t i = 0; i < works.size(); ++i) {
    Load& load = loads.emplace_back(*opened.engine, works[i], shape);
    load.check();
    turns.push_back({fmt::format("{} by {}", structures[i]->name, kEngine), [&load] { return load.rate(); }});
  }
  std::vector<Series> series = interleave(turns, options.rounds);
  series.push_back(bus);
  report.compare(name, "M headers/s", series, "",
                 {.plot = {.measurement = "E13", .title = title, .x = place.sweep.axis}, .at = place.setting.at});
  for (const std::string& line : opened.engine->notes()) require_gpu(kEngine, line);
}

}  // namespace

void measure_knobs(const Options& options, Report& report) {
  const unsigned threads = std::clamp(core_count(), 2U, kMostKnobThreads + 1) - 1;
  const auto sweeps = knob_sweeps(Knobs::papers, options.seed);
  report.input("rules", knob_rules_in_words(options.seed));
  report.input("headers", fmt::format("{}, each drawn from a rule, in random order, by {} threads in batches of {} "
                                      "unless a plot says otherwise",
                                      kKnobHeaders, threads, kKnobBatch));
  const Series of_openflow = bus_of(RuleFields::openflow, options.rounds);
  const Series of_ipv4 = bus_of(RuleFields::ipv4, options.rounds);
  std::size_t places = 0;
  for (const KnobSweep& sweep : sweeps) {
    for (const KnobSetting& setting : sweep.settings) {
      const Series& bus = setting.rules.fields == RuleFields::openflow ? of_openflow : of_ipv4;
      measure({sweep, setting, threads}, bus, options, report);
    }
    places += sweep.settings.size();
  }
  report.checked(
      fmt::format("{} rule sets: every answer of some rounds of every load, against those of fast on the "
                  "CPU and these against linear search's",
                  places));
}

}  // namespace penumbra::bench::gpu
