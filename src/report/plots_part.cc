// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "report/legend.h"
#include "report/markup.h"
#include "report/paper_figures.h"
#include "report/parts.h"
#include "report/plot_content.h"
#include "report/sentences.h"

namespace penumbra::report {
namespace {

std::string cell(const Point* point) {
  if (point == nullptr) return "<td></td>";
  const std::string extremes =
      point->value.least == point->value.most
          ? ""
          : fmt::format(" <small>{} to {}</small>", figure(point->value.least), figure(point->value.most));
  return "<td>" + figure(point->value.median) + extremes + "</td>";
}

/// Returns the heading of a plot's places, with the unit unless each place is printed with it.
std::string places_heading(const Plot& plot) {
  const std::string what = plot.x.empty() ? "at" : plot.x;
  const bool has_unit = plot.x_unit.empty() || plot.x_unit == "B" || plot.is_by_words();
  return has_unit ? what : what + ", " + plot.x_unit;
}

/// Returns a table with every point of a plot on one machine.
std::string table_of_points(const Plot& plot, const Panel& panel, const std::string& caption) {
  std::string headings = element("th", places_heading(plot), "scope=\"col\""), rows;
  for (const Curve& curve : panel.curves) headings += element("th", curve.name, "scope=\"col\"");
  for (const Place& place : plot.places()) {
    std::string cells;
    bool has_any = false;
    for (const Curve& curve : panel.curves) {
      const Point* point = curve.at(place);
      has_any = has_any || point != nullptr;
      cells += cell(point);
    }
    if (has_any) rows += "<tr>" + element("th", place_name(place, plot.x_unit), "scope=\"row\"") + cells + "</tr>";
  }
  return scrolling(fmt::format("<table class=\"points\">{}<thead><tr>{}</tr></thead><tbody>{}</tbody></table>",
                               element("caption", caption), headings, rows),
                   caption);
}

/// Returns the unique id of a machine's panel in the page.
std::string id_of(const Plot& plot, const Panel& panel) {
  return fmt::format("{}-{}", plot.id, panel.document);
}
std::string id_of_sentences(const Plot& plot, const Panel& panel) {
  return id_of(plot, panel) + "-s";
}

/// Returns the sentences for a machine as a paragraph.
std::string said(const Context& context, const Plot& plot, const Panel& panel) {
  const auto all = sentences(plot, panel);
  if (all.empty()) return "";
  return element("p", context.machines[panel.document].prefix() + fmt::format("{}", fmt::join(all, " ")),
                 fmt::format("class=\"says\" id=\"{}\"", id_of_sentences(plot, panel)));
}

/// Returns a drawing for the page. The sentences below, if any, describe the drawing for readers who cannot see it. A
/// large drawing scrolls where it would become too small to read.
std::string panel_drawing(const Chart& chart, const Plot& plot, const Panel& panel, const std::string& name,
                          bool has_sentences) {
  const Drawing drawing = chart.draw(panel);
  const std::string title = id_of(plot, panel) + "-t";
  const std::string svg = fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-labelledby=\"{}{}\"><title id=\"{}\">{}, "
      "{} "
      "by {}</title>{}</svg>",
      chart.width(), drawing.height, title, has_sentences ? " " + id_of_sentences(plot, panel) : "", title,
      escape(name), escape(plot.unit), escape(plot.x), drawing.marks);
  return chart.is_large() ? scrolling(svg, name) : svg;
}

std::string_view class_of(const Plot& plot, const Chart& chart) {
  if (chart.is_large()) return " class=\"wide large\"";
  return plot.panels.size() > 1 ? " class=\"wide\"" : "";
}

/// Returns the papers' figures that the plot is compared with.
std::string in_papers(const Context& context, const Plot& plot) {
  const std::string figures = figures_of_plot(plot, context.papers);
  return figures.empty() ? "" : element("small", figures);
}

std::string figure_of_plot(const Context& context, const Plot& plot, const PaperMeasurement* papers,
                           const Looks& looks) {
  const Chart chart(plot, paper_series(plot, papers), looks);
  std::string panels, says, tables;
  for (const Panel& panel : plot.panels) {
    const MachineName& machine = context.machines[panel.document];
    const std::string name = machine.prefix() + plot.heading;
    const std::string says_here = said(context, plot, panel);
    panels += fmt::format("<div class=\"panel\">{}{}</div>",
                          machine.letter.empty() ? "" : element("p", machine.prefix() + machine.name, "class=\"of\""),
                          panel_drawing(chart, plot, panel, name, !says_here.empty()));
    says += says_here;
    tables += table_of_points(plot, panel, fmt::format("{}{}, {}", machine.prefix(), plot.title, plot.unit));
  }
  return fmt::format(
      "<figure id=\"{}\"{}><figcaption>{}{}</figcaption><div class=\"panels\">{}</div>{}{}"
      "<details><summary>The figures of this plot</summary>{}</details></figure>",
      plot.id, class_of(plot, chart), element("h3", plot.heading), in_papers(context, plot), panels,
      legend_list(chart.legend()), says, tables);
}

std::string spread_and_ratio(const Point* point, bool has_ratios) {
  std::string cells = cell(point);
  if (!has_ratios) return cells;
  if (point == nullptr || !point->ratio) return cells + "<td></td>";
  return cells + element("td", figure(point->ratio->median));
}

/// Returns a table of one comparison without a plot, with the machines side by side.
std::string table_of(const Context& context, const Plot& table) {
  const Place place;
  std::vector<std::string> names;
  std::string headings = "<th scope=\"col\">way</th>", rows, says;
  for (const Panel& panel : table.panels) {
    headings += element("th", context.machines[panel.document].prefix() + table.unit, "scope=\"col\"");
    if (!table.reference.empty()) headings += element("th", "of " + table.reference, "scope=\"col\"");
    for (const Curve& curve : panel.curves) {
      if (std::ranges::find(names, curve.name) == names.end()) names.push_back(curve.name);
    }
    says += said(context, table, panel);
  }
  for (const std::string& name : names) {
    std::string cells = element("th", name, "scope=\"row\"");
    for (const Panel& panel : table.panels) {
      const auto curve = std::ranges::find(panel.curves, name, &Curve::name);
      const bool has_curve = curve != panel.curves.end() && !curve->points.empty();
      cells += spread_and_ratio(has_curve ? &curve->points.front() : nullptr, !table.reference.empty());
    }
    rows += "<tr>" + cells + "</tr>";
  }
  return fmt::format("<div class=\"comparison\" id=\"{}\">", table.id) + element("h4", table.heading) +
         in_papers(context, table) +
         scrolling(
             fmt::format("<table class=\"points\"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>", headings, rows),
             table.title) +
         says + "</div>";
}

}  // namespace

std::string plots_part(const Context& context, const std::vector<Plot>& plots, const PaperMeasurement* papers) {
  std::vector<const Plot*> drawn;
  for (const Plot& plot : plots) {
    if (!plot.is_table) drawn.push_back(&plot);
  }
  const Looks looks(drawn);
  std::string figures, tables;
  std::size_t count = 0;
  for (const Plot& plot : plots) {
    if (plot.is_table) {
      tables += table_of(context, plot);
      ++count;
    } else {
      figures += figure_of_plot(context, plot, papers, looks);
    }
  }
  if (!figures.empty()) figures = "<div class=\"figures\">" + figures + "</div>";
  if (tables.empty()) return figures;
  const bool is_all = figures.empty();
  return figures + fmt::format("<details class=\"tables\"{}><summary>{}</summary>{}</details>",
                               is_all ? " open=\"open\"" : "",
                               counted(count, is_all ? "comparison" : "more comparison"), tables);
}

}  // namespace penumbra::report
