// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include "penumbra/engine.h"
#include "penumbra/errors.h"

namespace penumbra {
namespace {

std::vector<EngineInfo>& registered() {
  static std::vector<EngineInfo> list;
  return list;
}

/// The engines that run here and have the shader, best first.
std::vector<std::string> engines_with(const std::string& shader) {
  std::vector<std::string> names;
  for (const auto& info : engines()) {
    if (info.probe().available && info.create()->find_shader(shader) != nullptr) names.push_back(info.name);
  }
  return names;
}

}  // namespace

bool register_engine(EngineInfo info) {
  auto& list = registered();
  const auto lower = [&info](const EngineInfo& other) { return other.priority < info.priority; };
  list.insert(std::find_if(list.begin(), list.end(), lower), std::move(info));
  return true;
}

const std::vector<EngineInfo>& engines() {
  return registered();
}

std::unique_ptr<Engine> create_engine(const std::string& name) {
  const auto found = std::ranges::find(engines(), name, &EngineInfo::name);
  if (found == engines().end()) {
    std::vector<std::string> names{"auto"};
    for (const auto& info : engines()) names.push_back(info.name);
    throw std::invalid_argument("unknown engine '" + name + "'; " + did_you_mean_or_list(name, names));
  }
  const Availability availability = found->probe();
  if (!availability.available) {
    throw std::runtime_error("engine '" + name + "' is not available here: " + availability.reason);
  }
  return found->create();
}

std::string resolve_engine(const std::string& name, const std::string& shader) {
  if (name != "auto" && create_engine(name)->find_shader(shader) != nullptr) return name;
  const auto having = engines_with(shader);
  if (name == "auto" && !having.empty()) return having.front();
  std::string list;
  for (const auto& engine : having) list += (list.empty() ? "" : ", ") + engine;
  throw std::runtime_error("engine '" + name + "' has no shader '" + shader +
                           "'; engines that have it here: " + (list.empty() ? "none" : list));
}

}  // namespace penumbra
