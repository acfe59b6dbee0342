// SPDX-License-Identifier: Apache-2.0
//
// APUNet's figure 3 has throughput by the price of what makes it. Here: the best of a CPU and of a GPU in every plot of
// a rate of packets, over the prices that are known and over the power that the machine reported.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "report/markup.h"
#include "report/parts.h"
#include "report/pattern.h"

namespace penumbra::report {
namespace {

constexpr std::string_view kRates = "packets/s|lookups/s|look-ups/s|headers/s", kOnGpu = "cuda|gpu";

struct Best {
  const Curve* curve = nullptr;
  const Point* point = nullptr;
};

std::optional<Best> best_of_ours(const Panel& panel, bool on_gpu) {
  std::optional<Best> best;
  for (const Curve& curve : panel.curves) {
    if (curve.role != Role::ours || matches(kOnGpu, curve.name) != on_gpu) continue;
    for (const Point& point : curve.points) {
      if (!best || point.value.median > best->point->value.median) best = {&curve, &point};
    }
  }
  return best;
}

/// While the benchmark ran for that plot: it may have an entry for each of several measurements.
std::optional<double> watts_of(const Document& document, const Plot& plot) {
  for (const Entry& entry : document.entries) {
    if (entry.benchmark != plot.benchmark) continue;
    const bool is_of_plot =
        plot.measurement.empty() ? entry.measurements.empty() : Context::belongs_to(entry, plot.measurement);
    if (is_of_plot && entry.watts && *entry.watts > 0) return entry.watts;
  }
  return std::nullopt;
}

std::optional<double> dollars_of(const Document& document, const PriceList& prices, bool on_gpu) {
  const Price* processor = prices.find(document.machine_fact("processor"));
  const Price* gpu = prices.find(document.machine_fact("gpu"));
  if (processor == nullptr || (on_gpu && gpu == nullptr)) return std::nullopt;
  return processor->dollars + (on_gpu ? gpu->dollars : 0);
}

std::string quotient(double value, const std::optional<double>& by) {
  return element("td", by ? figure(value / *by) : "", "class=\"number\"");
}

std::string rows_of(const Context& context, const Plot& plot, const Panel& panel) {
  const Document& document = context.documents[panel.document];
  const auto watts = watts_of(document, plot);
  std::string rows;
  for (const bool on_gpu : {false, true}) {
    const auto best = best_of_ours(panel, on_gpu);
    const auto dollars = dollars_of(document, context.prices, on_gpu);
    if (!best || (!watts && !dollars)) continue;
    const double value = best->point->value.median;
    rows += "<tr>" + element("th", context.machines[panel.document].prefix() + plot.title, "scope=\"row\"") +
            element("td", fmt::format("{}, {}", best->curve->name, place_name(best->point->place, plot.x_unit))) +
            element("td", fmt::format("{} {}", figure(value), plot.unit), "class=\"number\"") +
            quotient(1000 * value, dollars) + quotient(value, watts) + "</tr>";
  }
  return rows;
}

std::string known_prices(const Context& context) {
  std::vector<std::string> parts;
  for (const Document& document : context.documents) {
    for (const char* const kind : {"processor", "gpu"}) {
      const Price* price = context.prices.find(document.machine_fact(kind));
      if (price == nullptr) continue;
      const std::string text =
          fmt::format("{}: ${} ({})", document.machine_fact(kind), figure(price->dollars), price->source);
      if (std::ranges::find(parts, text) == parts.end()) parts.push_back(text);
    }
  }
  return parts.empty() ? "" : fmt::format(" Prices: {}.", fmt::join(parts, "; "));
}

}  // namespace

std::string efficiency_part(const Context& context) {
  std::string rows;
  for (const Plot& plot : context.plots) {
    if (plot.is_table || !matches(kRates, plot.unit)) continue;
    for (const Panel& panel : plot.panels) rows += rows_of(context, plot, panel);
  }
  if (rows.empty()) {
    return element(
        "p",
        "No power was measured and no price is known for these machines: penumbra report --prices FILE takes "
        "prices, and docs/report.md says how.",
        "class=\"nothing\"");
  }
  const std::string note =
      "The best of ours on a CPU and on a GPU in each plot. Dollars are those of the whole processor, for a GPU of "
      "both; "
      "watts are the mean while the whole benchmark ran, whatever ran in it.";
  return "<div class=\"comparison\"><h4>Throughput per dollar and per watt</h4>" +
         element("p", note + known_prices(context)) +
         scrolling(
             "<table><thead><tr><th scope=\"col\">plot</th><th scope=\"col\">best</th><th scope=\"col\">rate</th>"
             "<th scope=\"col\">per 1000 dollars</th><th scope=\"col\">per watt</th></tr></thead><tbody>" +
                 rows + "</tbody></table>",
             "Throughput per dollar and per watt") +
         "</div>";
}

}  // namespace penumbra::report
