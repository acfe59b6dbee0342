// SPDX-License-Identifier: Apache-2.0
#include "runtime/reload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "penumbra/errors.h"

namespace penumbra::runtime {
namespace {

std::vector<std::string> ports_of(const control::RouterConfig& config) {
  std::vector<std::string> names;
  names.reserve(config.ports.size());
  for (const auto& port : config.ports) names.push_back(port.info.name);
  return names;
}

std::vector<std::pair<std::string, std::string>> stages_of(const control::RouterConfig& config) {
  std::vector<std::pair<std::string, std::string>> stages;
  stages.reserve(config.pipeline.size());
  for (const auto& stage : config.pipeline) stages.emplace_back(stage.function, stage.engine);
  return stages;
}

}  // namespace

Reloader::Reloader(const control::RouterConfig& config, Pipeline& pipeline) : pipeline_(pipeline) {
  adopt(config);
}

void Reloader::adopt(const control::RouterConfig& config) {
  if (!config.file.empty()) file_ = std::filesystem::absolute(config.file);  // a text in memory has none
  sections_ = config.sections;
  ports_ = ports_of(config);
  stages_ = stages_of(config);
}

/// Functions are compared one by one, and speak of ports by their numbers.
bool Reloader::comparable(const control::RouterConfig& next) const {
  const auto by_function = [](const auto& a, const auto& b) { return a.first == b.first; };
  return ports_ == ports_of(next) && std::ranges::equal(stages_, stages_of(next), by_function);
}

/// The top-level keys that say something else and are no function's own matter.
std::vector<std::string> Reloader::restarts(const control::RouterConfig& next) const {
  std::set<std::string> keys;
  for (const auto* sections : {&sections_, &next.sections}) {
    for (const auto& [key, text] : *sections) keys.insert(key);
  }
  std::vector<std::string> changed;
  for (const auto& key : keys) {
    const auto before = sections_.find(key), after = next.sections.find(key);
    const bool same = before != sections_.end() && after != next.sections.end() && before->second == after->second;
    if (!same && key != "pipeline") changed.push_back(key);
  }
  if (stages_ != stages_of(next)) changed.emplace_back("pipeline");
  return changed;
}

nlohmann::ordered_json Reloader::command(std::string_view action, std::span<const std::string> arguments) {
  const bool apply = action == "apply";
  if ((!apply && action != "plan") || arguments.size() > 1) {
    throw std::invalid_argument("expected reload apply|plan [FILE]");
  }
  const std::lock_guard lock(mutex_);
  const auto next = control::load_config(arguments.empty() ? file_ : std::filesystem::path(arguments[0]));
  // All of it once beside what runs, so that no mistake is found when half is done, and no file is read twice.
  SparePipeline spare(next);
  const auto restart = restarts(next);
  if (apply && !restart.empty()) {
    throw std::runtime_error(fmt::format("{}: a change of {} takes a restart; nothing has changed", next.file.string(),
                                         fmt::join(restart, ", ")));
  }
  std::vector<std::string> changes;
  try {
    if (comparable(next)) changes = pipeline_.reload(spare.pipeline(), next.pipeline, apply);
  } catch (const InputError& error) {
    throw std::runtime_error(error.what());  // not a wrong file, as the spare is made of it: only not for this router
  }
  if (apply) adopt(next);
  return {{"file", std::filesystem::absolute(next.file).string()}, {"changes", changes}, {"restart", restart}};
}

}  // namespace penumbra::runtime
