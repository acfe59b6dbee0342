// SPDX-License-Identifier: Apache-2.0
#include "report/context.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/markup.h"
#include "report/pattern.h"
#include "report/plot_names.h"

namespace penumbra::report {
namespace {

constexpr std::size_t kLongestName = 60;
constexpr std::size_t kLetters = 26;

std::string name_of_machine(const Document& document) {
  std::vector<std::string> parts;
  const std::string processor = document.machine_fact("processor"), cores = document.machine_fact("cores");
  parts.push_back(processor.empty() ? document.file : shortened(processor, kLongestName));
  if (!cores.empty()) parts.push_back(cores + (cores == "1" ? " core" : " cores"));
  if (const std::string gpu = document.machine_fact("gpu"); !gpu.empty()) parts.push_back(shortened(gpu, kLongestName));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Pattern of comparisons of the parts of a whole: the steps of a router, as `penumbra-bench run forward` names them.
constexpr std::string_view kOfParts = "by step";

/// Returns false for parts of a whole, and for plots that the papers' file excludes: their curves do not compete.
bool is_race(const Plot& plot, const PaperMeasurement* papers) {
  if (matches(kOfParts, plot.title)) return false;
  return papers == nullptr || std::ranges::none_of(papers->no_race, [&plot](const std::string& pattern) {
           return matches(pattern, plot.title);
         });
}

/// Returns A to Z, AA, AB ...
std::string letter_of(std::size_t number) {
  const std::string last(1, static_cast<char>('A' + number % kLetters));
  return number < kLetters ? last : letter_of(number / kLetters - 1) + last;
}

}  // namespace

Context::Context(const std::vector<Document>& all_documents, const std::vector<PaperMeasurement>& all_papers,
                 const PriceList& known_prices)
    : documents(all_documents), papers(all_papers), prices(known_prices), plots(plots_of(all_documents)) {
  name_plots(plots);
  for (Plot& plot : plots) plot.is_race = is_race(plot, papers_of(plot.measurement));
  for (std::size_t i = 0; i < documents.size(); ++i) {
    machines.push_back({documents.size() == 1 ? "" : letter_of(i), name_of_machine(documents[i])});
  }
}

std::vector<Plot> Context::plots_of_measurement(const std::string& measurement) const {
  std::vector<Plot> some;
  std::ranges::copy_if(plots, std::back_inserter(some),
                       [&measurement](const Plot& plot) { return plot.measurement == measurement; });
  return some;
}

const PaperMeasurement* Context::papers_of(const std::string& measurement) const {
  const auto found = std::ranges::find(papers, measurement, &PaperMeasurement::measurement);
  return found == papers.end() ? nullptr : &*found;
}

std::vector<const Entry*> Context::entries_of(const std::string& measurement, std::size_t document) const {
  std::vector<const Entry*> some;
  for (const Entry& entry : documents[document].entries) {
    if (belongs_to(entry, measurement)) some.push_back(&entry);
  }
  return some;
}

bool Context::has_figures(const std::string& measurement, std::size_t document) const {
  return std::ranges::any_of(plots, [&measurement, document](const Plot& plot) {
    return plot.measurement == measurement &&
           std::ranges::find(plot.panels, document, &Panel::document) != plot.panels.end();
  });
}

std::vector<Reason> Context::lacks(const std::string& measurement, std::size_t document) const {
  std::vector<Reason> all;
  const auto entries = entries_of(measurement, document);
  for (const Entry* entry : entries) {
    if (!entry->nothing) continue;
    const Reason reason = reason_of(entry->benchmark, *entry->nothing);
    if (std::ranges::find(all, reason.text(), &Reason::text) == all.end()) all.push_back(reason);
  }
  if (!all.empty() || has_figures(measurement, document)) return all;
  if (!entries.empty()) return {{"the benchmark ran, but compared nothing for it (its notes may say why)", "", ""}};
  for (const Planned& planned : documents[document].planned) {
    if (planned.measurement == measurement) return {{"not yet available", "it waits for " + planned.waits_for, ""}};
  }
  return {{"it was not asked for", "", ""}};
}

bool Context::belongs_to(const Entry& entry, const std::string& measurement) {
  return std::ranges::find(entry.measurements, measurement) != entry.measurements.end();
}

bool Context::is_of_papers(const Entry& entry) {
  for (int number = 1; number <= kMeasurements; ++number) {
    if (belongs_to(entry, measurement_name(number))) return true;
  }
  return false;
}

Reason reason_of(const std::string& benchmark, const Nothing& nothing) {
  if (nothing.kind == Nothing::Kind::absent) {
    // The text after ": " is advice.
    const std::string lack = nothing.what.substr(0, nothing.what.find(": "));
    return {fmt::format("the machine lacks something for the benchmark {}", benchmark), nothing.what,
            lack.empty() ? "" : fmt::format("{} (the benchmark {})", lack, benchmark)};
  }
  const bool is_error = nothing.kind == Nothing::Kind::error;
  return {fmt::format("the benchmark {} {}", benchmark, is_error ? "failed" : "was left out"), nothing.what, ""};
}

}  // namespace penumbra::report
