// SPDX-License-Identifier: Apache-2.0
//
// APUNet's figure 3 has throughput by the price of what makes it. Here: the best of a CPU and of a GPU in every plot of
// a rate of packets, over the prices that are known and over the power that the machine reported.
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

/// By the engine that curve or contender are called after; auto takes a GPU where there is one.
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

/// While the benchmark ran for that plot: it may have an entry for each of several measurements.
Watts watts_of(const Document& document, const Plot& plot) {
  for (const Entry& entry : document.entries) {
    if (entry.benchmark != plot.benchmark) continue;
    const bool is_of_plot =
        plot.measurement.empty() ? entry.measurements.empty() : Context::belongs_to(entry, plot.measurement);
    if (is_of_plot) return entry.watts;
  }
  return {};
}

/// Rate over power, or why there is none.
struct PerWatt {
  std::string text;
  bool is_known = false;
};

/// A GPU's is that of both. A processor's power is known from its own meter only: what meters without a name read may
/// have been the GPU alone.
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

std::string rows_of(const Context& context, const Plot& plot, const Panel& panel) {
  const Document& document = context.documents[panel.document];
  const Watts watts = watts_of(document, plot);
  std::string rows;
  for (const bool on_gpu : {false, true}) {
    const auto best = best_of_ours(document, panel, on_gpu);
    const auto dollars = dollars_of(document, context.prices, on_gpu);
    if (!best) continue;
    const double value = best->point->value.median;
    const PerWatt by_power = per_watt(value, watts, on_gpu);
    if (!dollars && !by_power.is_known) continue;
    rows += "<tr>" + element("th", context.machines[panel.document].prefix() + plot.title, "scope=\"row\"") +
            element("td", fmt::format("{}, {}", best->curve->name, place_name(best->point->place, plot.x_unit))) +
            element("td", fmt::format("{} {}", figure(value), plot.unit), "class=\"number\"") +
            per_dollar(value, dollars) + cell_of(by_power) + "</tr>";
  }
  return rows;
}

/// The parts of the machines that no price is known of.
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
      " No price in the list (bench/prices.yaml, if none was given) matches {}: penumbra report --prices "
      "FILE takes others.",
      enumerate(parts));
}

/// The machines that have rates, and neither a price nor power for one of them.
std::string machines_left_out(const Context& context, const std::set<std::size_t>& with_rates,
                              const std::set<std::size_t>& in_table) {
  std::vector<std::string> names;
  for (const std::size_t machine : with_rates) {
    if (!in_table.contains(machine)) names.push_back(context.machines[machine].short_name());
  }
  if (names.empty() || in_table.empty()) return "";
  return fmt::format(" Not in the table, for neither a price nor the power of what got its rates is known: {}.",
                     enumerate(names));
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
  std::set<std::size_t> with_rates, in_table;
  for (const Plot& plot : context.plots) {
    if (plot.is_table || !matches(kRates, plot.unit)) continue;
    for (const Panel& panel : plot.panels) {
      with_rates.insert(panel.document);
      const std::string more = rows_of(context, plot, panel);
      if (!more.empty()) in_table.insert(panel.document);
      rows += more;
    }
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
      "both; watts are the mean while the whole benchmark ran, whatever ran in it, and for a GPU those of both, for a "
      "processor feeds it.";
  return "<div class=\"comparison\"><h4>Throughput per dollar and per watt</h4>" +
         element("p", note + known_prices(context) + missing_prices(context) +
                          machines_left_out(context, with_rates, in_table)) +
         scrolling(
             "<table><thead><tr><th scope=\"col\">plot</th><th scope=\"col\">best</th><th scope=\"col\">rate</th>"
             "<th scope=\"col\">per 1000 dollars</th><th scope=\"col\">per watt</th></tr></thead><tbody>" +
                 rows + "</tbody></table>",
             "Throughput per dollar and per watt") +
         "</div>";
}

}  // namespace penumbra::report
