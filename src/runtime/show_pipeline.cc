// SPDX-License-Identifier: Apache-2.0
#include "runtime/show_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "penumbra/engine.h"

namespace penumbra::runtime {

nlohmann::ordered_json show_engines(const Pipeline& pipeline) {
  auto table = nlohmann::ordered_json::array();
  for (const auto& info : engines()) {
    const Availability availability = info.probe();
    auto users = nlohmann::ordered_json::array();
    std::vector<std::string> notes;
    for (const auto& stage : pipeline.stages()) {
      const Engine* const engine = stage.engine_of(info.name);
      if (engine == nullptr) {
        if (!stage.shaders.empty() && stage.configured_engine == info.name && !availability.available) {
          notes.push_back(fmt::format("{} was to run here: it runs on {}", stage.name, stage.engine_names()));
        }
        continue;
      }
      if (std::ranges::find(stage.shaders, engine, &StageShader::engine) != stage.shaders.end()) {
        users.push_back(stage.name);
      }
      for (std::string& note : engine->notes()) {
        if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
      }
    }
    table.push_back({{"engine", info.name},
                     {"available", availability.available},
                     {"reason", availability.reason},
                     {"used_by", users},
                     {"settings", describe_settings(info)},
                     {"notes", notes},
                     {"summary", info.summary}});
  }
  return table;
}

nlohmann::ordered_json show_stages(const Pipeline& pipeline, std::string_view topic,
                                   std::span<const std::string> arguments) {
  std::vector<const Stage*> knowing;
  for (const auto& stage : pipeline.stages()) {
    const auto& topics = stage.info->topics;
    if (std::ranges::any_of(topics, [&](const auto& each) { return each.name == topic; })) knowing.push_back(&stage);
  }
  if (knowing.empty()) return nullptr;
  if (knowing.size() == 1) return knowing.front()->function->show(topic, arguments);
  nlohmann::ordered_json by_stage;
  for (const auto* stage : knowing) by_stage[stage->name] = stage->function->show(topic, arguments);
  return by_stage;
}

}  // namespace penumbra::runtime
