// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "report/markup.h"
#include "report/parts.h"
#include "report/plot_names.h"
#include "report/verdicts.h"

namespace penumbra::report {
namespace {

/// E16 relates results of other measurements to power and price, so missing results of its own have another wording.
std::string_view how_much(const std::string& measurement, bool has_figures) {
  if (measurement == "E16") return "What the papers compare here was not measured";
  return has_figures ? "A part was not measured" : "Nothing was measured";
}

/// Returns the missing results and the reasons; machines with the same reason are grouped.
std::string reasons(const Context& context, const std::string& measurement) {
  using Lack = std::pair<std::string_view, std::string>;  // The extent, and the reason.
  std::vector<std::pair<Lack, std::vector<std::string>>> by_lack;
  for (std::size_t i = 0; i < context.documents.size(); ++i) {
    const bool has_figures = context.has_figures(measurement, i);
    for (const Reason& reason : context.lacks(measurement, i)) {
      const Lack lack{how_much(measurement, has_figures), reason.text()};
      auto found = std::ranges::find(by_lack, lack, &std::pair<Lack, std::vector<std::string>>::first);
      if (found == by_lack.end()) found = by_lack.insert(by_lack.end(), {lack, {}});
      found->second.push_back(context.machines[i].short_name());
    }
  }
  std::string text;
  for (const auto& [lack, machines] : by_lack) {
    const bool is_all = machines.size() == context.documents.size();
    text += element("p", fmt::format("{}{}: {}.", lack.first, is_all ? "" : " on " + enumerate(machines), lack.second),
                    "class=\"nothing\"");
  }
  return text;
}

/// Returns a benchmark's details at each of its measurements, as far as they are about the measurement.
std::string all_details(const Context& context, const std::string& measurement) {
  std::string text;
  for (std::size_t i = 0; i < context.documents.size(); ++i) {
    for (const Entry* entry : context.entries_of(measurement, i)) text += details_part(context, i, *entry, measurement);
  }
  return text;
}

}  // namespace

std::string measurement_section(const Context& context, const std::string& measurement) {
  const PaperMeasurement* papers = context.papers_of(measurement);
  const std::vector<Plot> plots = context.plots_of_measurement(measurement);
  std::string body = reasons(context, measurement);
  std::string ours = plots_part(context, plots, papers);
  if (measurement == "E16") ours += efficiency_part(context);
  const std::string theirs = papers == nullptr ? "" : papers_part(context, *papers);
  const std::string_view layout = ours.empty() ? "alone" : "columns";
  body += fmt::format("<div class=\"{}\">{}{}</div>", layout,
                      ours.empty() ? "" : "<div class=\"ours\">" + ours + "</div>", theirs);
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\"><h2 id=\"{0}-title\">{0}{1}</h2>{2}{3}{4}</section>\n",
      measurement, papers == nullptr ? "" : ": " + escape(papers->title),
      papers == nullptr || papers->about.empty() ? "" : element("p", papers->about, "class=\"about\""), body,
      all_details(context, measurement));
}

std::string other_sections(const Context& context) {
  std::vector<std::string> benchmarks;
  for (const Document& document : context.documents) {
    for (const Entry& entry : document.entries) {
      if (Context::is_of_papers(entry)) continue;
      if (std::ranges::find(benchmarks, entry.benchmark) == benchmarks.end()) benchmarks.push_back(entry.benchmark);
    }
  }
  std::string sections;
  for (const std::string& benchmark : benchmarks) {
    std::vector<Plot> plots;
    std::ranges::copy_if(context.plots, std::back_inserter(plots), [&benchmark](const Plot& plot) {
      return plot.benchmark == benchmark && plot.measurement.empty();
    });
    const std::string id = benchmark_id(benchmark);
    std::string details;
    for (std::size_t i = 0; i < context.documents.size(); ++i) {
      for (const Entry& entry : context.documents[i].entries) {
        if (entry.benchmark != benchmark || Context::is_of_papers(entry)) continue;
        if (entry.nothing) {
          details += element("p",
                             fmt::format("{}Nothing was measured: {}.", context.machines[i].prefix(),
                                         reason_of(benchmark, *entry.nothing).text()),
                             "class=\"nothing\"");
        }
        details += details_part(context, i, entry, "");
      }
    }
    sections += fmt::format(
        "<section id=\"{0}\" aria-labelledby=\"{0}-title\"><h2 id=\"{0}-title\">Benchmark {1}</h2><div "
        "class=\"ours\">{2}</div>{3}</section>\n",
        id, escape(benchmark), plots_part(context, plots, nullptr), details);
  }
  return sections;
}

std::string scrolling(const std::string& table, const std::string& label) {
  return fmt::format("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">{}</div>", escape(label),
                     table);
}

std::string VerdictCount::text() const {
  std::vector<std::string> parts;
  if (hold > 0) parts.push_back(fmt::format("{} {}", hold, hold == 1 ? "holds" : "hold"));
  if (fail > 0) parts.push_back(fmt::format("{} {} not hold", fail, fail == 1 ? "does" : "do"));
  if (open > 0) parts.push_back(fmt::format("{} cannot be said", open));
  return fmt::format("{}", fmt::join(parts, ", "));
}

VerdictCount count_verdicts(const PaperMeasurement& papers, const std::vector<Plot>& plots, std::size_t document) {
  VerdictCount count;
  for (const Paper& paper : papers.papers) {
    for (const Conclusion& conclusion : paper.conclusions) {
      if (conclusion.is_ours) continue;
      const Outcome outcome = judge(conclusion, plots, document).outcome;
      ++(outcome == Outcome::holds ? count.hold : outcome == Outcome::does_not_hold ? count.fail : count.open);
    }
  }
  return count;
}

std::string text_of(const BarCount& count) {
  if (count.all() == 0) return "none";
  return fmt::format("{} met, {} missed, {} not shown", count.met, count.missed, count.not_shown);
}

BarCount count_bars(const Document& document, const std::string& measurement) {
  BarCount count;
  for (const Entry& entry : document.entries) {
    const bool is_meant = measurement.empty() || Context::belongs_to(entry, measurement);
    if (is_meant && entry.nothing && Nothing::is_bar(entry.nothing->kind)) count.add(std::nullopt);
    for (const Bar& bar : entry.bars) {
      if (!measurement.empty() && measurement_of(entry, bar.what) != measurement) continue;
      count.add(bar.met);
    }
  }
  return count;
}

}  // namespace penumbra::report
