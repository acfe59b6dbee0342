// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/markup.h"
#include "report/our_figure.h"
#include "report/parts.h"
#include "report/verdicts.h"

namespace penumbra::report {
namespace {

std::string cell_of(const std::optional<OurFigure>& ours, double value) {
  if (!ours) return "<td>" + element("small", "not measured") + "</td>";
  if (!ours->value) return "<td>" + element("small", "no such place") + "</td>";
  const std::string times = value == 0 ? "" : element("small", figure(*ours->value / value) + " times");
  return fmt::format("<td class=\"number\">{}{} {}</td>", figure(*ours->value), ours->open, times);
}

/// Returns the machines that have any value to compare with a paper's numbers.
std::vector<std::size_t> documents_of(const Paper& paper, const std::vector<Plot>& plots) {
  std::set<std::size_t> all;
  for (const Plot& plot : plots) {
    const bool is_meant = std::ranges::any_of(paper.numbers, [&plot](const PaperNumber& number) {
      return number.ours && number.ours->measurement == plot.measurement;
    });
    if (!is_meant) continue;
    for (const Panel& panel : plot.panels) all.insert(panel.document);
  }
  return {all.begin(), all.end()};
}

/// Returns "64 KiB", "1 thread", "8 threads".
std::string place_with_unit(double place, const std::string& unit) {
  std::string name = place_name(place, unit);
  if (unit.empty() || unit == "B") return name;
  const bool is_one_of_several = place == 1 && unit.ends_with('s') && unit != "us";
  return name + " " + (is_one_of_several ? unit.substr(0, unit.size() - 1) : unit);
}

/// Describes our value, or why there is none, once for all points of a number.
std::string rows_of_number(const PaperNumber& number, const std::vector<Plot>& plots,
                           const std::vector<std::size_t>& documents) {
  std::string rows, said;
  for (const auto& [place, value] : number.points) {
    std::string cells, ours;
    for (const std::size_t document : documents) {
      if (!number.why_not.empty()) break;
      const auto found = our_figure(number, place, plots, document);
      cells += cell_of(found, value);
      if (ours.empty() && found) ours = found->what;
    }
    if (cells.empty()) {
      const std::string why = number.why_not.empty() ? "not measured" : number.why_not;
      cells =
          fmt::format("<td colspan=\"{}\">{}</td>", std::max<std::size_t>(documents.size(), 1), element("small", why));
    }
    const std::string what = place ? number.what + ", " + place_with_unit(*place, number.x_unit) : number.what;
    const std::string where = number.where.empty() ? "" : element("small", number.where);
    const std::string origin = ours.empty() || ours == said ? "" : element("small", "ours: " + ours);
    if (!ours.empty()) said = ours;
    rows += fmt::format("<tr><th scope=\"row\">{} {} {}</th><td class=\"number\">{}{} <small>{}</small></td>{}</tr>",
                        escape(what), where, origin, number.is_approximate ? "about " : "", figure(value),
                        escape(number.unit), cells);
  }
  return rows;
}

std::string numbers_of(const Context& context, const Paper& paper) {
  if (paper.numbers.empty()) return "";
  const std::vector<std::size_t> documents = documents_of(paper, context.plots);
  std::string headings = "<th scope=\"col\">what</th><th scope=\"col\">the paper&#39;s</th>", rows;
  if (documents.empty()) headings += "<th scope=\"col\">ours</th>";
  for (const std::size_t document : documents) {
    headings += fmt::format("<th scope=\"col\">{}ours <small>over the paper&#39;s</small></th>",
                            escape(context.machines[document].prefix()));
  }
  for (const PaperNumber& number : paper.numbers) rows += rows_of_number(number, context.plots, documents);
  return scrolling(
      fmt::format("<table class=\"papers\"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>", headings, rows),
      "Numbers of " + paper.paper);
}

std::string_view class_of_outcome(Outcome outcome) {
  if (outcome == Outcome::holds) return "holds";
  return outcome == Outcome::does_not_hold ? "fails" : "open";
}

/// Returns the machines' verdicts; equal verdicts are grouped.
std::string verdicts_of(const Context& context, const Conclusion& conclusion) {
  std::vector<std::pair<Verdict, std::vector<std::string>>> verdicts;
  for (std::size_t i = 0; i < context.documents.size(); ++i) {
    Verdict verdict = judge(conclusion, context.plots, i);
    const auto same = std::ranges::find_if(verdicts, [&verdict](const auto& each) {
      return each.first.outcome == verdict.outcome && each.first.sentence == verdict.sentence;
    });
    std::vector<std::string>& machines =
        (same == verdicts.end() ? verdicts.emplace_back(std::move(verdict), std::vector<std::string>()) : *same).second;
    machines.push_back(context.machines[i].letter);
  }
  std::string items;
  for (const auto& [verdict, machines] : verdicts) {
    const std::string who = verdicts.size() == 1 ? "" : enumerate(machines) + ": ";
    items += fmt::format("<li class=\"{}\">{} {}</li>", class_of_outcome(verdict.outcome),
                         element("b", who + name_of(verdict.outcome) + "."), escape(verdict.sentence));
  }
  return "<ul class=\"verdicts\">" + items + "</ul>";
}

std::string conclusions_of(const Context& context, const Paper& paper) {
  std::string text;
  for (const Conclusion& conclusion : paper.conclusions) {
    text += fmt::format("<div class=\"conclusion\"><p>{}{}{}</p>{}</div>",
                        conclusion.is_ours ? element("small", "not the paper's:") + " " : "", escape(conclusion.says),
                        conclusion.where.empty() ? "" : " " + element("small", conclusion.where),
                        verdicts_of(context, conclusion));
  }
  return text;
}

}  // namespace

std::string papers_part(const Context& context, const PaperMeasurement& papers) {
  std::string text;
  for (const Paper& paper : papers.papers) {
    text += element("h3", paper.paper) +
            element("p", paper.where + (paper.on.empty() ? "" : "; on " + paper.on), "class=\"where\"") +
            conclusions_of(context, paper) + numbers_of(context, paper);
  }
  return fmt::format("<aside aria-label=\"What the papers say of {}\">{}</aside>", escape(papers.measurement), text);
}

}  // namespace penumbra::report
