// SPDX-License-Identifier: Apache-2.0
#include "report/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "report/json_view.h"

namespace penumbra::report {
namespace {

std::optional<double> number_of(const JsonView& object, const std::string& key) {
  const auto found = object.find(key);
  return found ? std::optional(found->number()) : std::nullopt;
}

std::optional<double> pace_of(const JsonView& object, const std::string& key) {
  const auto pace = number_of(object, key);
  if (pace && *pace <= 0) throw object.at(key).error("a pace is more than 0");
  return pace;
}

Watts watts_of(const JsonView& entry) {
  const auto watts = entry.find("watts");
  if (!watts) return {};
  if (watts->is_number()) return {std::nullopt, std::nullopt, watts->number()};
  return {number_of(*watts, "processors"), number_of(*watts, "gpus"), std::nullopt};
}

std::optional<Place> place_of(const JsonView& object) {
  const auto at = object.find("at");
  if (!at) return std::nullopt;
  if (at->is_text()) return at->text();
  if (!at->is_number()) throw at->error("expected a number or words");
  return at->number();
}

Spread spread_of(const JsonView& object) {
  const Spread spread{object.at("median").number(), object.at("min").number(), object.at("max").number()};
  if (spread.least > spread.median || spread.median > spread.most) {
    throw object.error("the median does not lie between min and max");
  }
  return spread;
}

Role role_of(const JsonView& contender) {
  const auto role = contender.find("role");
  if (!role) return Role::ours;
  const auto found = std::ranges::find(kRoleNames, role->text());
  if (found != kRoleNames.end()) return static_cast<Role>(found - kRoleNames.begin());
  throw role->error(fmt::format("expected ours, rival or limit, found {}", quote(role->text())));
}

Contender contender_of(const JsonView& object) {
  Contender contender;
  contender.name = object.at("name").text();
  const auto curve = object.find("curve");
  contender.curve = curve ? curve->text() : contender.name;
  contender.role = role_of(object);
  for (const JsonView& sample : object.list_or_none("samples")) contender.samples.push_back(sample.number());
  contender.value = spread_of(object.at("value"));
  if (const auto ratio = object.find("ratio")) contender.ratio = spread_of(*ratio);
  contender.at = place_of(object);
  return contender;
}

Comparison comparison_of(const JsonView& object) {
  Comparison comparison;
  comparison.title = object.at("title").text();
  comparison.unit = object.at("unit").text();
  comparison.reference = object.text_or_none("reference");
  for (const JsonView& each : object.at("contenders").list()) comparison.contenders.push_back(contender_of(each));
  const auto plot = object.find("plot");
  if (!plot) return comparison;
  const std::string measurement = plot->at("measurement").text();
  comparison.plot = {is_measurement(measurement) ? measurement : "", plot->at("title").text(), plot->text_or_none("x"),
                     plot->text_or_none("x_unit"), place_of(*plot)};
  for (const Contender& contender : comparison.contenders) {
    if (comparison.plot->at || contender.at) continue;
    throw plot->error(
        fmt::format("no `at` stands here, nor in the contender {}: it has no place", quote(contender.name)));
  }
  return comparison;
}

Bar bar_of(const JsonView& object) {
  Bar bar;
  bar.what = object.at("what").text();
  bar.value = number_of(object, "value");
  bar.wanted = number_of(object, "wanted");
  if (const auto at_least = object.find("at_least")) bar.at_least = at_least->truth();
  if (const auto met = object.find("met")) bar.met = met->truth();
  bar.not_shown = object.text_or_none("not_shown");
  if (bar.met && (!bar.value || !bar.wanted)) throw object.error("a bar that was shown has a `value` and a `wanted`");
  return bar;
}

std::vector<std::string> texts_of(const JsonView& object, const std::string& key) {
  std::vector<std::string> texts;
  for (const JsonView& each : object.list_or_none(key)) texts.push_back(each.text());
  return texts;
}

Entry entry_of(const JsonView& object) {
  Entry entry;
  entry.benchmark = object.at("benchmark").text();
  entry.measurements = texts_of(object, "measurements");
  std::erase_if(entry.measurements, [](const std::string& name) { return !is_measurement(name); });
  for (std::size_t kind = 0; kind < Nothing::kKeys.size(); ++kind) {
    if (const auto why = object.find(Nothing::kKeys[kind]))
      entry.nothing = {static_cast<Nothing::Kind>(kind), why->text()};
  }
  entry.rounds = number_of(object, "rounds");
  entry.seconds = number_of(object, "seconds");
  entry.watts = watts_of(object);
  if (const auto pace = object.find("pace")) {
    entry.memory_pace = pace_of(*pace, "memory");
    entry.core_pace = pace_of(*pace, "core");
  }
  if (const auto inputs = object.find("inputs")) {
    for (const auto& [name, value] : inputs->members()) entry.inputs.emplace_back(name, value.text_or_number());
  }
  entry.checked = texts_of(object, "checked");
  entry.notes = texts_of(object, "notes");
  for (const JsonView& each : object.list_or_none("comparisons")) entry.comparisons.push_back(comparison_of(each));
  for (const JsonView& each : object.list_or_none("bars")) entry.bars.push_back(bar_of(each));
  return entry;
}

/// Returns drift_of() for one of the paces.
double drift_by(const std::vector<const Document*>& documents, std::optional<double> Entry::* pace) {
  constexpr std::size_t kEnough = 5;
  std::vector<double> paces;
  for (const Document* document : documents) {
    const std::size_t before = paces.size();
    for (const Entry& entry : document->entries) {
      if (const std::optional<double>& found = entry.*pace; found) paces.push_back(*found);
    }
    if (paces.size() - before < kEnough) return 0;
  }
  const auto count = static_cast<double>(paces.size());
  const double mean = std::accumulate(paces.begin(), paces.end(), 0.0) / count;
  double squares = 0;
  for (const double each : paces) squares += (each - mean) * (each - mean);
  return 2 * std::sqrt(squares / (count - 1)) / mean;
}

void check_schema(const JsonView& root) {
  const JsonView schema = root.at("schema");
  const std::string found = schema.text();
  if (found == kSchema) return;
  const bool is_another = found.starts_with(kSchemaFamily);
  throw schema.error(fmt::format("this program reads {}, {} is {}", kSchema, quote(found),
                                 is_another ? "another version of it" : "something else"));
}

}  // namespace

std::string measurement_name(int number) {
  return fmt::format("E{}", number);
}

bool is_measurement(const std::string& name) {
  for (int number = 1; number <= kMeasurements; ++number) {
    if (name == measurement_name(number)) return true;
  }
  return false;
}

std::string Document::machine_fact(std::string_view name) const {
  const auto found = std::ranges::find(machine, name, &std::pair<std::string, std::string>::first);
  return found == machine.end() ? std::string() : found->second;
}

double drift_of(const std::vector<const Document*>& documents) {
  return std::max(drift_by(documents, &Entry::memory_pace), drift_by(documents, &Entry::core_pace));
}

Document parse_document(std::string_view text, const std::string& file) {
  const nlohmann::json json = parse_json(text, file);
  const JsonView root(json, file);
  check_schema(root);
  Document document;
  document.file = file;
  for (const auto& [name, value] : root.at("machine").members()) {
    document.machine.emplace_back(name, value.text_or_number());
  }
  using Fact = std::pair<std::string, std::string>;
  const auto processor = std::ranges::find(document.machine, "processor", &Fact::first);
  if (processor != document.machine.end()) std::rotate(document.machine.begin(), processor, processor + 1);
  const JsonView build = root.at("build");
  document.version = build.at("version").text();
  document.flags = build.text_or_none("flags");
  document.date = root.text_or_none("date");
  if (const auto seed = root.find("seed")) document.seed = seed->text_or_number();
  for (const JsonView& each : root.at("results").list()) document.entries.push_back(entry_of(each));
  for (const JsonView& each : root.list_or_none("planned")) {
    document.planned.push_back({each.at("measurement").text(), each.text_or_none("waits_for")});
  }
  return document;
}

}  // namespace penumbra::report
