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

const EngineInfo& choose(const std::string& name) {
  std::vector<std::string> names{"auto"};
  for (const auto& info : engines()) {
    if (name == "auto" && info.probe().available) return info;
    if (name == info.name) {
      const Availability availability = info.probe();
      if (!availability.available) {
        throw std::runtime_error("engine '" + name + "' is not available here: " + availability.reason);
      }
      return info;
    }
    names.push_back(info.name);
  }
  if (name == "auto") throw std::runtime_error("no engine of this build is available here");
  std::string known;
  for (const auto& each : names) known += (known.empty() ? "" : ", ") + each;
  throw std::invalid_argument("unknown engine '" + name + "' (there are " + known + ") " + did_you_mean(name, names));
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
  return choose(name).create();
}

std::string resolve_engine(const std::string& name) {
  return choose(name).name;
}

}  // namespace penumbra
