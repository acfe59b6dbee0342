// SPDX-License-Identifier: Apache-2.0
#include "report/plot_names.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "report/markup.h"

namespace penumbra::report {
namespace {

std::string title_with_unit(const Plot& plot) {
  return plot.unit.starts_with(plot.title) ? plot.unit : fmt::format("{}, {}", plot.title, plot.unit);
}

std::string section_id(const Plot& plot) {
  return plot.measurement.empty() ? benchmark_id(plot.benchmark) : plot.measurement;
}

}  // namespace

std::string benchmark_id(const std::string& benchmark) {
  return "benchmark-" + as_id(benchmark);
}

void name_plots(std::vector<Plot>& plots) {
  std::map<std::pair<std::string, std::string>, std::size_t> uses;  // By section and title.
  for (const Plot& plot : plots) {
    if (!plot.is_table) ++uses[{section_id(plot), plot.title}];
  }
  std::map<std::string, std::size_t> counts;  // Plots of each section.
  for (Plot& plot : plots) {
    const std::string section = section_id(plot);
    const bool is_one_of_several = !plot.is_table && uses[{section, plot.title}] > 1;
    plot.heading = is_one_of_several ? title_with_unit(plot) : plot.title;
    // as_id() returns no '_', so the id differs from other ids: "benchmark-x-21" is the benchmark "x!".
    plot.id = fmt::format("{}{}{}", section, plot.measurement.empty() ? '_' : '-', ++counts[section]);
  }
}

}  // namespace penumbra::report
