// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "report/markup.h"
#include "report/parts.h"
#include "report/plot_names.h"

namespace penumbra::report {
namespace {

std::string facts(const Context& context, std::size_t number) {
  const Document& document = context.documents[number];
  std::string rows;
  const auto row = [&rows](const std::string& name, const std::string& value) {
    if (!value.empty()) rows += element("dt", name) + element("dd", value);
  };
  for (const auto& [name, value] : document.machine) row(name, value);
  row("build", document.version);
  row("compiled with", document.flags);
  row("measured", document.date);
  if (const double drift = drift_of({&document}); drift > 0) {
    row("pace", fmt::format("varied by {:.0f}% meanwhile (twice the standard deviation)", 100 * drift));
  }
  row("seed", document.seed);
  row("file", document.file);
  row("bars", text_of(count_bars(document, "")));
  return fmt::format("<div class=\"machine\">{}<dl>{}</dl></div>",
                     element("h3", context.machines[number].prefix() + context.machines[number].name), rows);
}

/// Returns one machine's state of a measurement.
std::string state(const Context& context, const std::string& measurement, std::size_t document) {
  std::string text;
  for (const Reason& reason : context.lacks(measurement, document)) {
    text += element("span", reason.short_text(), "class=\"nothing\"");
  }
  if (!context.has_figures(measurement, document)) return "<td>" + text + "</td>";
  if (const PaperMeasurement* papers = context.papers_of(measurement)) {
    const VerdictCount count = count_verdicts(*papers, context.plots, document);
    if (!count.text().empty()) {
      const std::string_view kind = count.fail > 0 ? "fails" : count.hold > 0 ? "holds" : "open";
      text += element("span", "Conclusions: " + count.text(), fmt::format("class=\"{}\"", kind));
    }
  }
  const BarCount bars = count_bars(context.documents[document], measurement);
  if (bars.all() > 0) text += element("span", "Bars: " + text_of(bars), bars.missed > 0 ? "class=\"fails\"" : "");
  return "<td>" + (text.empty() ? "measured" : text) + "</td>";
}

std::string measurement_row(const Context& context, const std::string& measurement) {
  const PaperMeasurement* papers = context.papers_of(measurement);
  std::string cells = fmt::format("<th scope=\"row\"><a href=\"#{0}\"><b>{0}</b> {1}</a></th>", measurement,
                                  papers == nullptr ? "" : escape(papers->title));
  for (std::size_t i = 0; i < context.documents.size(); ++i) cells += state(context, measurement, i);
  return "<tr>" + cells + "</tr>";
}

std::string links_to_others(const Context& context) {
  std::vector<std::string> links;
  for (const Document& document : context.documents) {
    for (const Entry& entry : document.entries) {
      if (Context::is_of_papers(entry)) continue;
      const std::string link =
          fmt::format("<a href=\"#{}\">{}</a>", benchmark_id(entry.benchmark), escape(entry.benchmark));
      if (std::ranges::find(links, link) == links.end()) links.push_back(link);
    }
  }
  return links.empty() ? ""
                       : "<p>Benchmarks that belong to no measurement of the papers: " + enumerate(links) + ".</p>";
}

}  // namespace

std::string overview(const Context& context) {
  std::string machines, headings, rows;
  for (std::size_t i = 0; i < context.documents.size(); ++i) {
    machines += facts(context, i);
    headings += element("th", context.machines[i].short_name(), "scope=\"col\"");
  }
  for (int number = 1; number <= kMeasurements; ++number) rows += measurement_row(context, measurement_name(number));
  const std::string table = fmt::format(
      "<table class=\"contents\"><thead><tr><th scope=\"col\">Measurement</th>{}</tr></thead><tbody>{}</tbody></table>",
      headings, rows);
  return "<section aria-labelledby=\"machines\"><h2 id=\"machines\">Machines</h2><div class=\"machines\">" + machines +
         "</div></section>\n<nav aria-labelledby=\"measurements\"><h2 id=\"measurements\" "
         "tabindex=\"-1\">Measurements</h2>" +
         scrolling(table, "All measurements") + links_to_others(context) + papers_index(context) + "</nav>\n";
}

}  // namespace penumbra::report
