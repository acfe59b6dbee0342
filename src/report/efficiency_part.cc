// SPDX-License-Identifier: Apache-2.0
//
// APUNet's figure 3 shows throughput by the price of the hardware. This part of the page shows the best CPU and GPU
// rate of every plot of a packet rate, divided by the known prices and by the reported power.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

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

/// Tells by the engine in the name of the curve or contender. `auto` uses a GPU if the machine has one.
bool may_use_gpu(const Document& document, const Curve& curve, const Point& point) {
  if (matches(kOnGpu, curve.name) || matches(kOnGpu, point.name)) return true;
  return matches("^auto", curve.name) && !document.machine_fact("gpu").empty();
}

std::optional<Best> best_of_ours(const Document& document, const Panel& panel, bool on_gpu) {
  std::optional<Best> best;
  for (const Curve& curve : panel.curves) {
    if (curve.role != Role::ours) continue;
    for (const Point& point : curve.points) {
      if (may_use_gpu(document, curve, point) != on_gpu) continue;
      if (!best || point.value.median > best->point->value.median) best = {&curve, &point};
    }
  }
  return best;
}

/// Returns the power during the benchmark of that plot. A benchmark may have an entry for each of several measurements.
Watts watts_of(const Document& document, const Plot& plot) {
  for (const Entry& entry : document.entries) {
    if (entry.benchmark != plot.benchmark) continue;
    const bool is_of_plot =
        plot.measurement.empty() ? entry.measurements.empty() : Context::belongs_to(entry, plot.measurement);
    if (is_of_plot) return entry.watts;
  }
  return {};
}

/// Rate per watt, or why it is unknown.
struct PerWatt {
  std::string text;
  bool is_known = false;
};

/// Returns the rate per watt. For a GPU the power is the sum of both. A processor's power is known only from its own
/// meter, because meters without a name may have read the GPU alone.
PerWatt per_watt(double value, const Watts& watts, bool on_gpu) {
  const auto rate = [value](double by, const std::string& of_what) {
    return by > 0 ? PerWatt{figure(value / by) + of_what, true} : PerWatt{"a meter read no power"};
  };
  if (watts.processors && !on_gpu) return rate(*watts.processors, "");
  if (!on_gpu) return {"no meter of the processor was read"};
  if (watts.processors && watts.gpus) return rate(*watts.processors + *watts.gpus, "");
  if (watts.gpus) return rate(*watts.gpus, " of the GPU alone");
  if (watts.of_unknown_meters) return rate(*watts.of_unknown_meters, ", by meters not named");
  return {watts.processors ? "no meter of the GPU was read" : "no meter was read"};
}

std::string cell_of(const PerWatt& by_power) {
  return by_power.is_known ? element("td", by_power.text, "class=\"number\"")
                           : "<td>" + element("small", by_power.text) + "</td>";
}

std::optional<double> dollars_of(const Document& document, const PriceList& prices, bool on_gpu) {
  const Price* processor = prices.find(document.machine_fact("processor"));
  const Price* gpu = prices.find(document.machine_fact("gpu"));
  if (processor == nullptr || (on_gpu && gpu == nullptr)) return std::nullopt;
  return processor->dollars + (on_gpu ? gpu->dollars : 0);
}

std::string per_dollar(double value, const std::optional<double>& dollars) {
  if (!dollars) return "<td>" + element("small", "no price") + "</td>";
  return element("td", figure(1000 * value / *dollars), "class=\"number\"");
}

/// Returns "gopt, workers: 15" or "1 worker, maximum delay: 20 us".
std::string name_of(const Best& best, const Plot& plot) {
  const std::string place = place_name(best.point->place, plot.x_unit);
  const std::string unit = plot.x_unit.empty() || plot.x_unit == "B" ? "" : " " + plot.x_unit;
  return fmt::format("{}, {}{}{}{}", best.curve->name, plot.x, plot.x.empty() ? "" : ": ", place, unit);
}

/// The best rate of a plot on one machine, with its processor or its GPU.
struct Row {
  const Plot* plot = nullptr;
  std::size_t document = 0;
  Best best;
  std::optional<double> dollars;
  PerWatt by_power;
};

std::vector<Row> rows_of(const Context& context) {
  std::vector<Row> rows;
  for (const Plot& plot : context.plots) {
    if (plot.is_table || !matches(kRates, plot.unit)) continue;
    for (const Panel& panel : plot.panels) {
      const Document& document = context.documents[panel.document];
      for (const bool on_gpu : {false, true}) {
        const auto best = best_of_ours(document, panel, on_gpu);
        if (!best) continue;
        rows.push_back({&plot, panel.document, *best, dollars_of(document, context.prices, on_gpu),
                        per_watt(best->point->value.median, watts_of(document, plot), on_gpu)});
      }
    }
  }
  return rows;
}

/// Omits the column of dollars if no price is known.
std::string text_of(const Context& context, const Row& row, bool has_prices) {
  const Plot& plot = *row.plot;
  const double value = row.best.point->value.median;
  const std::string& section = plot.measurement.empty() ? plot.benchmark : plot.measurement;
  const std::string name = fmt::format("{}{} {}", context.machines[row.document].prefix(), section, plot.title);
  return "<tr>" + element("th", name, "scope=\"row\"") + element("td", name_of(row.best, plot)) +
         element("td", fmt::format("{} {}", figure(value), plot.unit), "class=\"number\"") +
         (has_prices ? per_dollar(value, row.dollars) : "") + cell_of(row.by_power) + "</tr>";
}

/// Returns the machines' parts without a known price.
std::string missing_prices(const Context& context) {
  std::vector<std::string> parts;
  for (const Document& document : context.documents) {
    for (const char* const kind : {"processor", "gpu"}) {
      const std::string part = document.machine_fact(kind);
      if (part.empty() || context.prices.find(part) != nullptr) continue;
      if (std::ranges::find(parts, part) == parts.end()) parts.push_back(part);
    }
  }
  if (parts.empty()) return "";
  return fmt::format(
      " No price in the list (bench/prices.yaml, if none was given) matches {}: penumbra-bench report --prices "
      "FILE takes others.",
      enumerate(parts));
}

/// Returns the machines that have rates, but neither a price nor the power for any rate.
std::string machines_left_out(const Context& context, const std::vector<Row>& rows,
                              const std::set<std::size_t>& shown) {
  std::set<std::string> names;
  for (const Row& row : rows) {
    if (!shown.contains(row.document)) names.insert(context.machines[row.document].short_name());
  }
  if (names.empty()) return "";
  return fmt::format(" Not in the table, for neither a price nor the power of what got its rates is known: {}.",
                     enumerate({names.begin(), names.end()}));
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
  const std::vector<Row> all = rows_of(context);
  // A machine with any price or power shows all of its rows; rows without both say so.
  std::set<std::size_t> shown;
  for (const Row& row : all) {
    if (row.dollars || row.by_power.is_known) shown.insert(row.document);
  }
  const bool has_prices = std::ranges::any_of(all, [](const Row& row) { return row.dollars.has_value(); });
  std::string rows;
  for (const Row& row : all) {
    if (shown.contains(row.document)) rows += text_of(context, row, has_prices);
  }
  if (rows.empty()) {
    return element(
        "p",
        "No power was measured and no price is known for these machines: penumbra-bench report --prices FILE takes "
        "prices, and docs/report.md says how.",
        "class=\"nothing\"");
  }
  std::string note = "The best of ours on a CPU and on a GPU in each plot. ";
  if (has_prices) note += "Dollars are those of the whole processor, for a GPU of both. ";
  note +=
      "Watts are the mean while the whole benchmark ran, whatever ran in it, and for a GPU those of both, for a "
      "processor feeds it.";
  const std::string_view dollars = has_prices ? "<th scope=\"col\">per 1000 dollars</th>" : "";
  return "<div class=\"comparison\"><h4>Throughput per dollar and per watt</h4>" +
         element("p", note + known_prices(context) + missing_prices(context) + machines_left_out(context, all, shown)) +
         scrolling(fmt::format("<table><thead><tr><th scope=\"col\">plot</th><th scope=\"col\">best</th>"
                               "<th scope=\"col\">rate</th>{}<th scope=\"col\">per watt</th></tr></thead><tbody>{}"
                               "</tbody></table>",
                               dollars, rows),
                   "Throughput per dollar and per watt") +
         "</div>";
}

}  // namespace penumbra::report
