// SPDX-License-Identifier: Apache-2.0
#include "document.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace penumbra::bench {
namespace {

/// Returns the options that affect figures.
nlohmann::json input_of(const Options& options) {
  nlohmann::json input = {{"large", options.large}, {"rules", nlohmann::json::array()}, {"routes", nullptr}};
  if (options.routes) input["routes"] = options.routes->string();
  for (const auto& file : options.rules) input["rules"].push_back(file.string());
  return input;
}

/// Removes properties that change from hour to hour.
nlohmann::json lasting(nlohmann::json machine) {
  if (machine.is_object()) machine.erase("load average");
  return machine;
}

/// True if `entry` has the form of a result, as far as a resumed run reads it.
bool is_entry(const nlohmann::json& entry) {
  if (!entry.is_object() || !entry.value("benchmark", nlohmann::json()).is_string()) return false;
  if (!entry.value("rounds", nlohmann::json(0U)).is_number_unsigned()) return false;
  const nlohmann::json bars = entry.value("bars", nlohmann::json::array());
  return bars.is_array() && std::ranges::all_of(bars, [](const nlohmann::json& bar) {
           if (!bar.is_object() || !bar.contains("met")) return false;
           return bar["met"].is_boolean() || bar["met"].is_null();
         });
}

bool is_of(const nlohmann::json& entry, const Benchmark& benchmark) {
  return entry.value("benchmark", "") == benchmark.name &&
         entry.value("measurements", std::vector<std::string>{}) == benchmark.measurements;
}

}  // namespace

bool is_measured(const nlohmann::json& entry) {
  return std::ranges::none_of(Nothing::kKeys, [&entry](const char* key) { return entry.contains(key); });
}

Document::Document(const Options& options, nlohmann::json machine, nlohmann::json build) : options_(options) {
  json_ = {{"schema", kSchema},
           {"machine", std::move(machine)},
           {"build", std::move(build)},
           {"date", fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)))},
           {"seed", options.seed},
           {"input", input_of(options)},
           {"results", nlohmann::json::array()}};
  if (options.output) take_over(*options.output);
  json_["met"] = verdict();
  store();  // Fails now, rather than after an hour, if the file cannot be written.
}

nlohmann::json Document::verdict() const {
  const std::optional<bool> are_met = bars().verdict();
  return are_met ? nlohmann::json(*are_met) : nlohmann::json();
}

void Document::take_over(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) {
    if (!exists(file)) return;
    throw std::invalid_argument(fmt::format("cannot read {}", file.string()));
  }
  const nlohmann::json found = nlohmann::json::parse(stream, nullptr, false);
  if (!found.is_object() || found.value("schema", nlohmann::json()) != kSchema || !found.contains("results") ||
      !found["results"].is_array() || !std::ranges::all_of(found["results"], &is_entry)) {
    throw std::invalid_argument(fmt::format("{} is no document of results; it is not overwritten", file.string()));
  }
  for (const char* key : {"machine", "build", "seed", "input"}) {
    if (lasting(found.value(key, nlohmann::json::object())) == lasting(json_[key])) continue;
    throw std::invalid_argument(
        fmt::format("{} holds results of another {}: name another file, or remove it", file.string(), key));
  }
  json_["results"] = found["results"];
}

bool Document::has(const Benchmark& benchmark) const {
  return std::ranges::any_of(json_["results"], [&](const nlohmann::json& entry) {
    return is_of(entry, benchmark) && is_measured(entry) &&
           (options_.budget || entry.value("rounds", 0U) >= options_.rounds);
  });
}

void Document::add(const Benchmark& benchmark, nlohmann::json entry) {
  entry["benchmark"] = benchmark.name;
  entry["measurements"] = benchmark.measurements;
  auto& results = json_["results"].get_ref<nlohmann::json::array_t&>();
  std::erase_if(results, [&benchmark](const nlohmann::json& each) { return is_of(each, benchmark); });
  results.push_back(std::move(entry));
  json_["met"] = verdict();
  store();
}

/// Writes a second file first and renames it, so that readers always find a complete document, even after an
/// interruption.
void Document::store() const {
  if (!options_.output) return;
  std::filesystem::path fresh = *options_.output;
  fresh += ".new";
  {
    std::ofstream stream(fresh);
    stream << json_.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    if (!stream.flush()) throw std::system_error(errno, std::generic_category(), fresh.string());
  }
  std::filesystem::rename(fresh, *options_.output);
}

}  // namespace penumbra::bench
