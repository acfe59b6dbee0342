// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "report/markup.h"
#include "report/paper_figures.h"
#include "report/parts.h"

namespace penumbra::report {
namespace {

/// A part of a paper.
struct Part {
  std::string where;  ///< "figure 8(a)", or "figures 5 and 6, section V-E".
  std::string ours;   ///< Our corresponding part, as markup.
};

struct PaperParts {
  std::string paper;
  std::vector<Part> parts;
};

/// Returns a sort key: figures before sections before tables, by their numbers and letters. For "figures 5 and 6,
/// section V-E" the first counts; for "figure 8(a), top" all text up to the comma.
std::tuple<std::string, int, std::string> place_in_paper(const std::string& where) {
  constexpr std::string_view kDigits = "0123456789";
  std::string kind = where.substr(0, where.find(' '));
  if (kind.ends_with('s')) kind.pop_back();
  const std::size_t digit = where.find_first_of(kDigits);
  if (digit == std::string::npos) return {kind, 0, ""};
  const std::size_t rest = std::min(where.find_first_not_of(kDigits, digit), where.size());
  return {kind, std::stoi(where.substr(digit, rest - digit)), where.substr(rest, where.find(',', rest) - rest)};
}

std::string link_to(const std::string& id, const std::string& text) {
  return fmt::format("<a href=\"#{}\">{}</a>", id, escape(text));
}

/// Returns links to the plots of a figure. Without plots in these results, returns the section, or why there are none.
std::string ours_of(const PaperFigure& figure, const std::vector<Plot>& plots) {
  std::string section = link_to(figure.measurement, figure.measurement);
  if (!figure.why_not.empty()) return fmt::format("{}, no plot: {}", section, escape(figure.why_not));
  std::vector<std::string> links;
  for (const Plot* plot : plots_of_figure(figure, plots)) links.push_back(link_to(plot->id, plot->heading));
  if (links.empty()) return section;
  return fmt::format("{}: {}{}", figure.measurement, fmt::join(links, "; "),
                     figure.but.empty() ? "" : " " + element("small", "but " + figure.but));
}

void add(const Context& context, const Paper& paper, const std::string& measurement, std::vector<Part>& parts) {
  for (const PaperFigure& figure : paper.figures) {
    std::string ours = ours_of(figure, context.plots);
    if (figure.measurement != measurement) ours += "; what the paper says of it: " + link_to(measurement, measurement);
    parts.push_back({figure.figure, std::move(ours)});
  }
  if (paper.figures.empty()) parts.push_back({paper.where, link_to(measurement, measurement)});
}

}  // namespace

std::string papers_index(const Context& context) {
  std::vector<PaperParts> papers;
  for (const PaperMeasurement& measurement : context.papers) {
    for (const Paper& paper : measurement.papers) {
      auto found = std::ranges::find(papers, paper.paper, &PaperParts::paper);
      if (found == papers.end()) found = papers.insert(papers.end(), {paper.paper, {}});
      add(context, paper, measurement.measurement, found->parts);
    }
  }
  std::string items;
  for (auto& [paper, parts] : papers) {
    std::ranges::stable_sort(parts, {}, [](const Part& part) { return place_in_paper(part.where); });
    items += element("dt", paper) + "<dd><ul class=\"index\">";
    for (const auto& [where, ours] : parts) items += fmt::format("<li>{} \u2192 {}</li>", escape(where), ours);
    items += "</ul></dd>";
  }
  if (items.empty()) return "";
  return "<h3>By paper</h3>" + element("p", "What is not listed shows no measurement of theirs.", "class=\"about\"") +
         "<dl>" + items + "</dl>";
}

}  // namespace penumbra::report
