// SPDX-License-Identifier: Apache-2.0
#include "report/plot_content.h"

#include <fmt/format.h>

#include "report/pattern.h"
#include "report/sentences.h"

namespace penumbra::report {

namespace {

/// Returns the only curve of a plot that matches the pattern, or an empty text.
std::string curve_meant(const Plot& plot, const std::string& pattern) {
  std::string found;
  for (const Panel& panel : plot.panels) {
    for (const Curve& curve : panel.curves) {
      if (curve.name == found || !matches(pattern, curve.name)) continue;
      if (!found.empty()) return "";
      found = curve.name;
    }
  }
  return found;
}

}  // namespace

std::vector<PaperSeries> paper_series(const Plot& plot, const PaperMeasurement* papers) {
  std::vector<PaperSeries> all;
  if (papers == nullptr) return all;
  for (const Paper& paper : papers->papers) {
    for (const PaperNumber& number : paper.numbers) {
      if (!number.ours) continue;
      const Target& ours = *number.ours;
      if (ours.to || ours.to_at || number.place_of || ours.measurement != plot.measurement) continue;
      if (number.unit != plot.unit) continue;
      if (!matches(ours.plot, plot.title) || !matches(ours.unit, plot.unit)) continue;
      PaperSeries series{fmt::format("{}, {}", paper.paper, number.what), curve_meant(plot, ours.of), {}};
      for (const auto& [place, value] : number.points) {
        const bool has_number = ours.at.kind == PlaceChoice::Kind::number;
        if (place || has_number) series.points.emplace_back(place.value_or(ours.at.from), value);
      }
      if (!series.points.empty()) all.push_back(std::move(series));
    }
  }
  return all;
}

std::string description(const Context& context, const Plot& plot, const Panel& panel) {
  return fmt::format("{} by {}, {}. {}", plot.unit, plot.x, context.machines[panel.document].name,
                     fmt::join(sentences(plot, panel), " "));
}

}  // namespace penumbra::report
