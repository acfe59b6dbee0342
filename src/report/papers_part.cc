// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/markup.h"
#include "report/parts.h"
#include "report/targets.h"
#include "report/verdicts.h"

namespace penumbra::report {
namespace {

/// Ours beside a number of a paper, on one machine.
struct Beside {
  std::string cells, what;
};

Beside ours_beside_number(const PaperNumber& number, const std::optional<double>& place, double value,
                          const std::vector<Plot>& plots, std::size_t document) {
  std::optional<PlaceChoice> at;
  if (place) at = PlaceChoice{PlaceChoice::Kind::number, *place, 0, ""};
  const auto found = number.ours ? find(*number.ours, plots, document, at) : std::vector<Finding>();
  if (found.empty()) return {"<td></td><td></td>", ""};
  const Finding& first = found.front();
  const std::string ratio = value == 0 ? "" : figure(first.value / value);
  return {element("td", figure(first.value), "class=\"number\"") + element("td", ratio, "class=\"number\""),
          first.to.empty() ? fmt::format("{}, {}", first.plot->title, first.of)
                           : fmt::format("{}, {} over {}", first.plot->title, first.of, first.to)};
}

/// Without `with_ours` the paper's alone, where nothing was measured.
std::string rows_of_number(const Context& context, const PaperNumber& number, const std::vector<Plot>& plots,
                           bool with_ours) {
  std::string rows;
  for (const auto& [place, value] : number.points) {
    std::string cells, ours;
    for (std::size_t i = 0; with_ours && i < context.documents.size(); ++i) {
      const Beside beside = ours_beside_number(number, place, value, plots, i);
      cells += beside.cells;
      if (ours.empty()) ours = beside.what;
    }
    std::string what = number.what;
    if (place) what += ", " + place_name(*place, number.x_unit);
    if (place && !number.x_unit.empty() && number.x_unit != "B") what += " " + number.x_unit;
    const std::string small = number.where.empty() ? "" : element("small", number.where);
    const std::string beside = ours.empty() ? "" : element("small", "ours: " + ours);
    rows += fmt::format("<tr><th scope=\"row\">{} {} {}</th><td class=\"number\">{}{} <small>{}</small></td>{}</tr>",
                        escape(what), small, beside, number.is_approximate ? "about " : "", figure(value),
                        escape(number.unit), cells);
  }
  return rows;
}

std::string numbers_of(const Context& context, const Paper& paper, const std::vector<Plot>& plots) {
  if (paper.numbers.empty()) return "";
  std::string headings = "<th scope=\"col\">what</th><th scope=\"col\">the paper&#39;s</th>", rows;
  const bool with_ours = !plots.empty();
  for (const MachineName& machine : context.machines) {
    if (!with_ours) break;
    headings += element("th", machine.prefix() + "ours", "scope=\"col\"") +
                element("th", machine.prefix() + "ours / the paper's", "scope=\"col\"");
  }
  for (const PaperNumber& number : paper.numbers) rows += rows_of_number(context, number, plots, with_ours);
  return scrolling(
      fmt::format("<table class=\"papers\"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>", headings, rows),
      "Numbers of " + paper.paper);
}

std::string_view class_of_outcome(Outcome outcome) {
  if (outcome == Outcome::holds) return "holds";
  return outcome == Outcome::does_not_hold ? "fails" : "open";
}

/// The verdict of each machine; one for all where none of them can say anything for the same reason.
std::string verdicts_of(const Context& context, const Conclusion& conclusion, const std::vector<Plot>& plots) {
  std::vector<Verdict> verdicts;
  for (std::size_t i = 0; i < context.documents.size(); ++i) verdicts.push_back(judge(conclusion, plots, i));
  bool is_one_for_all = true;
  for (const Verdict& each : verdicts) {
    is_one_for_all =
        is_one_for_all && each.outcome == Outcome::cannot_be_said && each.sentence == verdicts.front().sentence;
  }
  std::string items;
  for (std::size_t i = 0; i < (is_one_for_all ? 1 : verdicts.size()); ++i) {
    items += fmt::format(
        "<li class=\"{}\">{} {}</li>", class_of_outcome(verdicts[i].outcome),
        element("b", (is_one_for_all ? "" : context.machines[i].prefix()) + name_of(verdicts[i].outcome) + "."),
        escape(verdicts[i].sentence));
  }
  return "<ul class=\"verdicts\">" + items + "</ul>";
}

std::string conclusions_of(const Context& context, const Paper& paper, const std::vector<Plot>& plots) {
  std::string text;
  for (const Conclusion& conclusion : paper.conclusions) {
    text += fmt::format("<div class=\"conclusion\"><p>{}{}</p>{}</div>", escape(conclusion.says),
                        conclusion.where.empty() ? "" : " " + element("small", conclusion.where),
                        verdicts_of(context, conclusion, plots));
  }
  return text;
}

}  // namespace

std::string papers_part(const Context& context, const PaperMeasurement& papers, const std::vector<Plot>& plots) {
  std::string text;
  for (const Paper& paper : papers.papers) {
    text += element("h3", paper.paper) +
            element("p", paper.where + (paper.on.empty() ? "" : "; on " + paper.on), "class=\"where\"") +
            conclusions_of(context, paper, plots) + numbers_of(context, paper, plots);
  }
  return fmt::format("<aside aria-label=\"What the papers say of {}\">{}</aside>", escape(papers.measurement), text);
}

}  // namespace penumbra::report
