// SPDX-License-Identifier: Apache-2.0
#include "gopt/instruction_report.h"

#include <vector>

#include "gopt/counters.h"
#include "gopt/instructions.h"

namespace penumbra::bench {
namespace {

constexpr std::uint32_t kCountedItems = 256;  ///< Items whose instructions are counted by single steps.
constexpr double kManyAccesses = 100;

/// Instructions per item, and per unit of time in each round, of several ways.
struct InstructionSeries {
  std::vector<Series> an_item, a_time;

  void add(const Series& way) {
    for (auto* each : {&an_item, &a_time}) each->push_back({way.name, {}, way.role, way.curve});
  }
  void report_to(Report& report, const std::string& title, const std::string& time) const {
    const Place place{{"E7", "instructions", "look-up"}, title};
    report.compare(title, "instructions an item", an_item, kPlain, place);
    report.compare(title, "instructions a " + time, a_time, kPlain, place);
  }
};

/// Counts passes over all items by performance counters. Returns false if there are none.
bool report_counters(const std::string& title, const Workload& workload, std::span<const Tuned> ways,
                     std::span<const Series> rates, Report& report) {
  InstructionSeries series;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    series.add(rates[i]);
    for (std::size_t round = 0; round < rates[i].samples.size(); ++round) {
      const auto counts = counted([&] {
        for (std::uint32_t first = 0; first < workload.items; first += workload.batch) {
          ways[i].way->run(first, workload.batch, ways[i].size);
        }
      });
      if (!counts) return false;
      const auto instructions = static_cast<double>(counts->instructions);
      series.an_item[i].samples.push_back(instructions / workload.items);
      series.a_time[i].samples.push_back(instructions / static_cast<double>(counts->cycles));
    }
  }
  series.report_to(report, title, "cycle");
  return true;
}

/// Counts a few items by single steps, for machines without counters; the ways' rates provide their times.
void report_steps(const std::string& title, std::span<const Tuned> ways, std::span<const Series> rates,
                  Report& report) {
  InstructionSeries series;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const auto count = instructions([&] { ways[i].way->run(0, kCountedItems, ways[i].size); });
    if (!count) {
      report.note("instructions are not counted: there are no counters, and this system lets no child be traced");
      return;
    }
    const double each = static_cast<double>(*count) / kCountedItems;
    series.add(rates[i]);
    series.an_item[i].samples = {each};
    for (const double rate : rates[i].samples)
      series.a_time[i].samples.push_back(rate * 1e6 * each / time_stamps_per_second());
  }
  series.report_to(report, title, "tick of the time stamp counter");
}

}  // namespace

void report_instructions(const std::string& title, const Workload& workload, std::span<const Tuned> ways,
                         std::span<const Series> rates, Report& report) {
  if (report_counters(title, workload, ways, rates, report)) return;
  // A step takes microseconds, so items with thousands of steps are left out.
  if (workload.accesses < kManyAccesses) report_steps(title, ways, rates, report);
}

}  // namespace penumbra::bench
