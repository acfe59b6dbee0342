// SPDX-License-Identifier: Apache-2.0
//
// Returns the page's parts as markup.
#pragma once

#include <string>
#include <vector>

#include "report/chart.h"
#include "report/context.h"

namespace penumbra::report {

/// Returns machines and builds, and the list of all measurements with their state.
std::string overview(const Context& context);
/// Returns the place in the page for each figure and table of the papers.
std::string papers_index(const Context& context);
/// Returns the section of one of E1 to E22.
std::string measurement_section(const Context& context, const std::string& measurement);
/// Returns the sections of benchmarks that belong to no measurement; empty if there are none.
std::string other_sections(const Context& context);

/// Returns plots and tables with sentences and figures. Curves of one name look alike in all of them.
std::string plots_part(const Context& context, const std::vector<Plot>& plots, const PaperMeasurement* papers);
/// Returns the papers' numbers next to ours, and the verdicts on their conclusions.
std::string papers_part(const Context& context, const PaperMeasurement& papers);
/// Returns bars, inputs, checks and notes about `measurement`, or about the whole entry if it is empty.
std::string details_part(const Context& context, std::size_t document, const Entry& entry,
                         const std::string& measurement);
/// Returns throughput per watt and per dollar, as far as there are figures.
std::string efficiency_part(const Context& context);

/// Returns a table that scrolls on its own if it is wider than the page.
std::string scrolling(const std::string& table, const std::string& label);
/// The numbers of verdicts of each kind. text() returns for example "2 hold, 1 does not".
struct VerdictCount {
  std::size_t hold = 0, fail = 0, open = 0;
  std::string text() const;
};
/// Counts the verdicts on the papers' conclusions, without our own sentences. `plots` are the plots of all
/// measurements.
VerdictCount count_verdicts(const PaperMeasurement& papers, const std::vector<Plot>& plots, std::size_t document);
/// Counts one machine's bars that are about `measurement`, or all bars if it is empty. Counts like `penumbra-bench`: an
/// absent or left-out benchmark counts as not shown.
BarCount count_bars(const Document& document, const std::string& measurement);
std::string text_of(const BarCount& count);

}  // namespace penumbra::report
