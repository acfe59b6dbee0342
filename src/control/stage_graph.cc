// SPDX-License-Identifier: Apache-2.0
#include "control/stage_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "penumbra/errors.h"
#include "penumbra/function.h"

namespace penumbra::control {
namespace {

/// Returns the stages that stage `at` gives packets to directly.
StageSet next_stages(std::span<const StageConfig> pipeline, std::size_t at) {
  StageSet next;
  const FunctionInfo* const info = find_function(pipeline[at].function);
  const bool passes_on = info == nullptr || info->passes_on != PassesOn::nothing;
  const std::size_t after = stage_after(pipeline, at);
  if (passes_on && after < pipeline.size()) next.set(after);
  for (const GoTo& go_to : pipeline[at].go_to) next.set(go_to.target);
  return next;
}

}  // namespace

std::vector<std::string> stage_names(std::span<const StageConfig> pipeline) {
  std::map<std::string, unsigned> uses;
  std::vector<std::string> names;
  names.reserve(pipeline.size());
  for (const auto& stage : pipeline) {
    const unsigned use = ++uses[stage.function];
    names.push_back(use == 1 ? stage.function : fmt::format("{}.{}", stage.function, use));
  }
  return names;
}

void resolve_go_to(std::span<StageConfig> pipeline) {
  const std::vector<std::string> names = stage_names(pipeline);
  for (StageConfig& stage : pipeline) {
    for (GoTo& go_to : stage.go_to) {
      const auto found = std::ranges::find(names, go_to.stage);
      if (found == names.end()) {
        throw InputError(go_to.location, fmt::format("there is no stage {} in the pipeline; {}", quote(go_to.stage),
                                                     did_you_mean_or_list(go_to.stage, names)));
      }
      go_to.target = static_cast<std::uint16_t>(found - names.begin());
    }
  }
}

std::size_t stage_after(std::span<const StageConfig> pipeline, std::size_t at) {
  const auto& all = pipeline[at].go_to;
  const auto found = std::ranges::find(all, GoTo::kPass, &GoTo::reason);
  return found == all.end() ? at + 1 : found->target;
}

std::vector<StageSet> reachable_stages(std::span<const StageConfig> pipeline) {
  std::vector<StageSet> reached;
  reached.reserve(pipeline.size());
  for (std::size_t i = 0; i < pipeline.size(); ++i) reached.push_back(next_stages(pipeline, i));
  for (std::size_t over = 0; over < pipeline.size(); ++over) {  // The algorithm is Warshall's.
    for (StageSet& each : reached) {
      if (each[over]) each |= reached[over];
    }
  }
  return reached;
}

}  // namespace penumbra::control
