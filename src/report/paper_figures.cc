// SPDX-License-Identifier: Apache-2.0
#include "report/paper_figures.h"

#include <algorithm>

#include "report/pattern.h"

namespace penumbra::report {
namespace {

bool names(const PaperFigure& figure, const Plot& plot) {
  return figure.why_not.empty() && figure.measurement == plot.measurement && matches(figure.plot, plot.title) &&
         matches(figure.unit, plot.unit);
}

/// Returns "GSwitch" for "GSwitch (IEEE/ACM ToN 2016)".
std::string short_name(const Paper& paper) {
  return paper.paper.substr(0, paper.paper.find(" ("));
}

}  // namespace

std::vector<const Plot*> plots_of_figure(const PaperFigure& figure, const std::vector<Plot>& plots) {
  std::vector<const Plot*> some;
  for (const Plot& plot : plots) {
    if (names(figure, plot)) some.push_back(&plot);
  }
  return some;
}

std::string figures_of_plot(const Plot& plot, const std::vector<PaperMeasurement>& papers) {
  struct Group {
    std::string name, but, figures;
  };
  std::vector<Group> groups;  // Figures of one paper with the same omission.
  for (const PaperMeasurement& measurement : papers) {
    for (const Paper& paper : measurement.papers) {
      for (const PaperFigure& figure : paper.figures) {
        if (!names(figure, plot)) continue;
        const std::string name = short_name(paper);
        auto found = std::ranges::find_if(
            groups, [&](const Group& group) { return group.name == name && group.but == figure.but; });
        if (found == groups.end()) found = groups.insert(groups.end(), {name, figure.but, ""});
        found->figures += ", " + figure.figure;
      }
    }
  }
  std::string text;
  for (const auto& [name, but, figures] : groups) {
    text.append(text.empty() ? "" : "; ").append(name).append(figures);
    if (!but.empty()) text.append(", but ").append(but);
  }
  return text;
}

}  // namespace penumbra::report
