// SPDX-License-Identifier: Apache-2.0
#include "report/plot_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <set>

#include "report/built_in.h"
#include "report/legend.h"
#include "report/markup.h"
#include "report/plot_content.h"

namespace penumbra::report {
namespace {

constexpr double kMarginAround = 14, kBetweenPanels = 28;
constexpr double kTitleHeight = 24, kTitleBaseline = 15, kMachineHeight = 22, kMachineBaseline = 11;
constexpr double kTitleLetterWidth = 8;
constexpr std::size_t kMostSideBySide = 2;
constexpr double kScale = 1.6;  ///< Pixels per unit, unless the reader chooses another size.
constexpr std::size_t kMostOfName = 100;

/// Returns a text of lower-case letters, digits and hyphens. Apostrophes are dropped; other characters become hyphens.
std::string slug(std::string_view text) {
  std::string all;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < 0x80 && std::isalnum(byte) != 0) {
      all += static_cast<char>(std::tolower(byte));
    } else if (letter != '\'' && !all.empty() && all.back() != '-') {
      all += '-';
    }
  }
  all.resize(std::min(all.size(), kMostOfName));
  if (all.ends_with('-')) all.pop_back();
  return all;
}

/// Returns "E6", or the benchmark of a plot without a measurement.
const std::string& section_of(const Plot& plot) {
  return plot.measurement.empty() ? plot.benchmark : plot.measurement;
}

/// Returns a name with a two-digit measurement number, so that files sort by measurement.
std::string name_of(const Plot& plot) {
  const bool is_of_one_digit = plot.measurement.size() == 2;
  return slug(fmt::format("{} {}", is_of_one_digit ? "E0" + plot.measurement.substr(1) : section_of(plot), plot.title));
}

/// Returns a unique name for each plot.
std::vector<std::string> names_of(const std::vector<Plot>& plots) {
  std::map<std::string, std::size_t> uses;
  for (const Plot& plot : plots) ++uses[name_of(plot)];
  std::set<std::string> taken;
  std::vector<std::string> names;
  names.reserve(plots.size());
  for (const Plot& plot : plots) {
    std::string name = name_of(plot);
    if (uses[name] > 1) name += "-" + slug(plot.unit);
    const std::string first = name;
    for (unsigned number = 2; !taken.insert(name).second; ++number) name = fmt::format("{}-{}", first, number);
    names.push_back(name);
  }
  return names;
}

std::string moved(double x, double y, std::string_view marks) {
  return fmt::format("<g transform=\"translate({:.1f} {:.1f})\">{}</g>", x, y, marks);
}

/// Returns a line of text, shortened to `width`.
std::string text_line(double y, double width, double letter_width, std::string_view text, std::string_view attributes) {
  const auto letters = static_cast<std::size_t>(width / letter_width);
  return element("text", shortened(text, letters), fmt::format("x=\"0\" y=\"{:.1f}\"{}", y, attributes));
}

std::string drawing_of(const Context& context, const Plot& plot, const Looks& looks) {
  const Chart chart(plot, paper_series(plot, context.papers_of(plot.measurement)), looks);
  const std::size_t columns = std::clamp<std::size_t>(plot.panels.size(), 1, kMostSideBySide);
  const double width = static_cast<double>(columns) * (chart.width() + kBetweenPanels) - kBetweenPanels;
  const std::string title = fmt::format("{}: {}", section_of(plot), plot.title);
  std::string marks = text_line(kTitleBaseline, width, kTitleLetterWidth, title, " class=\"title\""), descriptions;
  double y = kTitleHeight, row_height = 0;
  for (std::size_t i = 0; i < plot.panels.size(); ++i) {
    const Panel& panel = plot.panels[i];
    const MachineName& machine = context.machines[panel.document];
    const Drawing drawing = chart.draw(panel);
    marks += moved(static_cast<double>(i % columns) * (chart.width() + kBetweenPanels), y,
                   text_line(kMachineBaseline, chart.width(), kLetterWidth, machine.prefix() + machine.name, "") +
                       moved(0, kMachineHeight, drawing.marks));
    descriptions += (i == 0 ? "" : " ") + description(context, plot, panel);
    row_height = std::max(row_height, kMachineHeight + drawing.height);
    if (i % columns + 1 < columns && i + 1 < plot.panels.size()) continue;
    y += row_height + kBetweenPanels / 4;
    row_height = 0;
  }
  const Drawing legend = legend_drawing(chart.legend(), width);
  marks += moved(0, y, legend.marks);
  const double all_width = width + 2 * kMarginAround, all_height = y + legend.height + 2 * kMarginAround;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{2:.0f}\" "
      "height=\"{3:.0f}\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\" role=\"img\">\n<title>{4}</title>\n"
      "<desc>{5}</desc>\n<style>\n{6}</style>\n<rect class=\"back\" width=\"{0:.0f}\" height=\"{1:.0f}\"/>\n{7}\n"
      "</svg>\n",
      all_width, all_height, all_width * kScale, all_height * kScale, escape(title), escape(descriptions),
      built_in_file("chart.css"), moved(kMarginAround, kMarginAround, marks));
}

}  // namespace

std::vector<PlotFile> plot_files(const Context& context) {
  std::vector<Plot> plots;
  std::ranges::copy_if(context.plots, std::back_inserter(plots), [](const Plot& plot) { return !plot.is_table; });
  const std::vector<std::string> names = names_of(plots);
  std::map<std::string, std::vector<const Plot*>> sections;
  for (const Plot& plot : plots) sections[section_of(plot)].push_back(&plot);
  std::map<std::string, Looks> looks;  // Looks of each section, as in the page.
  for (const auto& [section, of_section] : sections) looks.emplace(section, of_section);
  std::vector<PlotFile> files;
  files.reserve(plots.size());
  for (std::size_t i = 0; i < plots.size(); ++i) {
    files.push_back({names[i] + ".svg", drawing_of(context, plots[i], looks.at(section_of(plots[i])))});
  }
  return files;
}

}  // namespace penumbra::report
