// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace penumbra::bench {
namespace {

/// Formats a number of any size with four significant digits.
std::string figure(double value) {
  const double size = value < 0 ? -value : value;
  if (size == 0) return "0";
  if (size < 10) return fmt::format("{:.3f}", value);
  if (size < 100) return fmt::format("{:.2f}", value);
  if (size < 1000) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

nlohmann::json to_json(const Spread& values) {
  return {{"median", values.median}, {"min", values.least}, {"max", values.most}};
}
nlohmann::json to_json(const At& at) {
  return std::visit([](const auto& value) { return nlohmann::json(value); }, at);
}
nlohmann::json to_json(const Plot& plot) {
  return {{"measurement", plot.measurement}, {"title", plot.title}, {"x", plot.x}, {"x_unit", plot.x_unit}};
}

}  // namespace

std::string size_name(std::size_t bytes) {
  constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
  if (bytes >= kGiB) return fmt::format("{} GiB", bytes / kGiB);
  if (bytes >= kMiB) return fmt::format("{} MiB", bytes / kMiB);
  return bytes >= kKiB ? fmt::format("{} KiB", bytes / kKiB) : fmt::format("{} B", bytes);
}

Series ratio(const Series& of, const Series& to) {
  if (of.samples.size() != to.samples.size()) throw std::invalid_argument("series of different rounds");
  Series result{of.name + " / " + to.name, {}};
  for (std::size_t round = 0; round < of.samples.size(); ++round) {
    result.samples.push_back(of.samples[round] / to.samples[round]);
  }
  return result;
}

Report::Report(std::string benchmark, bool quiet) : quiet_(quiet) {
  json_ = {{"benchmark", benchmark},
           {"inputs", nlohmann::json::object()},
           {"checked", nlohmann::json::array()},
           {"notes", nlohmann::json::array()},
           {"comparisons", nlohmann::json::array()},
           {"bars", nlohmann::json::array()}};
  say(fmt::format("\n== {}", benchmark));
}

void Report::say(const std::string& line) const {
  if (quiet_) return;
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

void Report::input(const std::string& what, const std::string& description) {
  json_["inputs"][what] = description;
  say(fmt::format("   {}: {}", what, description));
}

void Report::checked(const std::string& what) {
  json_["checked"].push_back(what);
  say(fmt::format("   checked: {}", what));
}

void Report::note(const std::string& text) {
  json_["notes"].push_back(text);
  say(fmt::format("   note: {}", text));
}

std::vector<double> Report::compare(const std::string& title, const std::string& unit,
                                    std::span<const Series> contenders, const std::string& reference) {
  return tell({{"title", title}, {"unit", unit}, {"reference", reference}}, contenders);
}

std::vector<double> Report::compare(const std::string& title, const std::string& unit,
                                    std::span<const Series> contenders, const std::string& reference,
                                    const Place& place) {
  nlohmann::json plot = to_json(place.plot);
  plot["at"] = to_json(place.at);
  return tell({{"title", title}, {"unit", unit}, {"reference", reference}, {"plot", std::move(plot)}}, contenders);
}

std::vector<double> Report::compare(const std::string& title, const std::string& unit,
                                    std::span<const Series> contenders, const std::string& reference,
                                    const Places& places) {
  if (places.at.size() != contenders.size()) throw std::invalid_argument("not a place for each contender of " + title);
  nlohmann::json entry = {{"title", title}, {"unit", unit}, {"reference", reference}, {"plot", to_json(places.plot)}};
  for (const At& at : places.at) entry["contenders"].push_back({{"curve", places.curve}, {"at", to_json(at)}});
  return tell(std::move(entry), contenders);
}

/// Reports a comparison. `entry` has everything but the contenders' samples.
std::vector<double> Report::tell(nlohmann::json entry, std::span<const Series> contenders) {
  const auto reference = entry["reference"].get<std::string>();
  const auto base = std::ranges::find(contenders, reference, &Series::name);
  if (!reference.empty() && base == contenders.end()) throw std::invalid_argument("no contender " + reference);
  std::size_t width = 0;
  for (const Series& series : contenders) width = std::max(width, series.name.size());
  say(fmt::format("   {}, {}: median (min .. max){}", entry["title"].get<std::string>(),
                  entry["unit"].get<std::string>(), reference.empty() ? "" : ", ratio to " + reference));
  std::vector<double> ratios;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const Series& series = contenders[i];
    const Spread values = spread(series.samples);
    nlohmann::json& row = entry["contenders"][i];
    row["name"] = series.name;
    row["role"] = role_name(series.role);
    row["samples"] = series.samples;
    row["value"] = to_json(values);
    if (!series.curve.empty()) row["curve"] = series.curve;
    std::string line = fmt::format("     {:<{}}  {:>8} ({} .. {})", series.name, width, figure(values.median),
                                   figure(values.least), figure(values.most));
    if (!reference.empty()) {
      const Spread relative = spread(ratio(series, *base).samples);
      ratios.push_back(relative.median);
      if (std::isfinite(relative.most))
        row["ratio"] = to_json(relative);  // Otherwise nothing of the reference was measured.
      line += fmt::format("   x{:.2f} ({:.2f} .. {:.2f})", relative.median, relative.least, relative.most);
    }
    say(line);
  }
  json_["comparisons"].push_back(std::move(entry));
  return ratios;
}

void Report::bar(const std::string& what, double value, double wanted, bool at_least) {
  if (!std::isfinite(value)) return bar_not_shown(what, "there is no figure to hold it against");
  const bool met = at_least ? value >= wanted : value <= wanted;
  json_["bars"].push_back({{"what", what}, {"value", value}, {"wanted", wanted}, {"at_least", at_least}, {"met", met}});
  say(fmt::format("   bar: {} {} {}: {} - {}", what, at_least ? ">=" : "<=", figure(wanted), figure(value),
                  met ? "met" : "NOT met"));
}

void Report::bar_not_shown(const std::string& what, const std::string& why) {
  json_["bars"].push_back({{"what", what}, {"met", nullptr}, {"not_shown", why}});
  say(fmt::format("   bar: {}: NOT SHOWN: {}", what, why));
}

BarCount count_bars(const nlohmann::json& results) {
  BarCount count;
  for (const auto& calibrations : results) {
    for (std::size_t kind = 0; kind < Nothing::kKeys.size(); ++kind) {
      if (calibrations.contains(Nothing::kKeys[kind]) && Nothing::is_bar(static_cast<Nothing::Kind>(kind)))
        count.add(std::nullopt);
    }
    for (const auto& bar : calibrations.value("bars", nlohmann::json::array())) {
      count.add(bar["met"].is_null() ? std::nullopt : std::optional(bar["met"].get<bool>()));
    }
  }
  return count;
}

}  // namespace penumbra::bench
