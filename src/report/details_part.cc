// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "report/markup.h"
#include "report/parts.h"

namespace penumbra::report {
namespace {

std::string bar_row(const Bar& bar) {
  std::string state = "not shown: " + bar.not_shown;
  std::string_view kind = "open";
  if (bar.met) {
    state = *bar.met ? "met" : "missed";
    kind = *bar.met ? "holds" : "fails";
  }
  const std::string wanted =
      bar.wanted ? fmt::format("{} {}", figure(*bar.wanted), bar.at_least ? "or more" : "or less") : "";
  return "<tr>" + element("th", bar.what, "scope=\"row\"") +
         element("td", bar.value ? figure(*bar.value) : "", "class=\"number\"") +
         element("td", wanted, "class=\"number\"") + element("td", state, fmt::format("class=\"{}\"", kind)) + "</tr>";
}

/// Returns a list without repetitions; repeated items have their count.
std::string list_of(const std::string& heading, const std::vector<std::string>& items) {
  if (items.empty()) return "";
  std::map<std::string_view, std::size_t> times;
  for (const std::string& item : items) ++times[item];
  std::string text;
  for (const std::string& item : items) {
    const std::size_t said = std::exchange(times[item], 0);
    if (said > 0) text += element("li", said == 1 ? item : fmt::format("{} ({} times)", item, said));
  }
  return element("h4", heading) + "<ul>" + text + "</ul>";
}

/// Returns the texts that are about the measurement.
std::vector<std::string> about(const Entry& entry, const std::vector<std::string>& texts,
                               const std::string& measurement) {
  std::vector<std::string> some;
  std::ranges::copy_if(texts, std::back_inserter(some), [&](const std::string& text) {
    return measurement.empty() || measurement_of(entry, text) == measurement;
  });
  return some;
}

std::string how_measured(const Entry& entry) {
  std::vector<std::string> parts;
  if (entry.rounds) parts.push_back(counted(static_cast<std::size_t>(std::max(*entry.rounds, 0.0)), "round"));
  if (entry.seconds) parts.push_back(figure(*entry.seconds) + " s in all");
  const auto add_watts = [&parts](const std::optional<double>& watts, const std::string& whose) {
    if (watts) parts.push_back(fmt::format("{} W{} on the average", figure(*watts), whose));
  };
  add_watts(entry.watts.processors, " of processors");
  add_watts(entry.watts.gpus, " of GPUs");
  add_watts(entry.watts.of_unknown_meters, "");
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

}  // namespace

std::string details_part(const Context& context, std::size_t document, const Entry& entry,
                         const std::string& measurement) {
  std::string rows, inputs;
  std::size_t met = 0, bars = 0;
  for (const Bar& bar : entry.bars) {
    if (!measurement.empty() && measurement_of(entry, bar.what) != measurement) continue;
    rows += bar_row(bar);
    ++bars;
    met += bar.met.value_or(false) ? 1 : 0;
  }
  for (const auto& [name, value] : entry.inputs) {
    if (!measurement.empty() && measurement_of(entry, name) != measurement) continue;
    inputs += element("dt", name) + element("dd", value);
  }
  std::string body;
  if (!rows.empty()) {
    body +=
        element("h4", "Bars") + scrolling(
                                    "<table><thead><tr><th scope=\"col\">what</th><th scope=\"col\">found</th>"
                                    "<th scope=\"col\">wanted</th><th scope=\"col\">state</th></tr></thead><tbody>" +
                                        rows + "</tbody></table>",
                                    "Bars of " + entry.benchmark);
  }
  if (!inputs.empty()) body += element("h4", "Inputs") + "<dl>" + inputs + "</dl>";
  body += list_of("Checked", about(entry, entry.checked, measurement)) +
          list_of("Notes", about(entry, entry.notes, measurement));
  if (body.empty()) return "";
  const std::string told = bars == 0 ? "" : fmt::format(", {} of {} met", met, counted(bars, "bar"));
  return fmt::format(
      "<details><summary>{}</summary>{}</details>",
      escape(fmt::format("{}benchmark {}{}: bars, inputs, checks, notes{}", context.machines[document].prefix(),
                         entry.benchmark, how_measured(entry), told)),
      body);
}

}  // namespace penumbra::report
