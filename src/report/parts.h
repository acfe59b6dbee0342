// SPDX-License-Identifier: Apache-2.0
//
// The page's parts, each as markup.
#pragma once

#include <string>
#include <vector>

#include "report/chart.h"
#include "report/context.h"

namespace penumbra::report {

/// Machines and builds, and the list of all measurements with what came of them.
std::string overview(const Context& context);
/// Where each figure and table of the papers is in the page.
std::string papers_index(const Context& context);
/// One of E1 to E22.
std::string measurement_section(const Context& context, const std::string& measurement);
/// The benchmarks that belong to none of them; nothing if there are none.
std::string other_sections(const Context& context);

/// Plots and tables, with sentences and figures. Curves of one name look alike in all of them.
std::string plots_part(const Context& context, const std::vector<Plot>& plots, const PaperMeasurement* papers);
/// The papers' numbers beside ours, and what became of their conclusions.
std::string papers_part(const Context& context, const PaperMeasurement& papers);
/// Bars, inputs, checks and notes, of what `measurement` is about; of all of an entry if that is empty.
std::string details_part(const Context& context, std::size_t document, const Entry& entry,
                         const std::string& measurement);
/// Throughput per watt and per dollar, where there are figures for it.
std::string efficiency_part(const Context& context);

/// A table that scrolls by itself where it is wider than the page.
std::string scrolling(const std::string& table, const std::string& label);
/// How many verdicts are of each kind, as "2 hold, 1 does not", and whether one fails.
struct VerdictCount {
  std::size_t hold = 0, fail = 0, open = 0;
  std::string text() const;
};
/// Of what the papers concluded, not of what is ours beside it. `plots` are those of all measurements.
VerdictCount count_verdicts(const PaperMeasurement& papers, const std::vector<Plot>& plots, std::size_t document);
/// Of the bars that `measurement` is about, of one machine; all if it is empty. As `penumbra bench` counts: a benchmark
/// that is absent or was left out is one that is not shown.
BarCount count_bars(const Document& document, const std::string& measurement);
std::string text_of(const BarCount& count);

}  // namespace penumbra::report
