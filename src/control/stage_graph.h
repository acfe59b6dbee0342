// SPDX-License-Identifier: Apache-2.0
//
// Tells which stages of a pipeline packets may reach from which, by order and by `go_to`.
#pragma once

#include <bitset>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "control/config.h"

namespace penumbra::control {

inline constexpr std::size_t kMostStages = 64;
using StageSet = std::bitset<kMostStages>;

/// Returns the stages' names: the function's name, or "NAME.2" for a second instance.
std::vector<std::string> stage_names(std::span<const StageConfig> pipeline);

/// Sets the targets of every `go_to`. Throws InputError at a name that no stage has.
void resolve_go_to(std::span<StageConfig> pipeline);

/// Returns the stage that undecided packets of stage `at` continue with; `pipeline.size()` is the end.
std::size_t stage_after(std::span<const StageConfig> pipeline, std::size_t at);

/// Returns, for each stage, the stages that its packets may reach. `go_to` has its targets.
std::vector<StageSet> reachable_stages(std::span<const StageConfig> pipeline);

}  // namespace penumbra::control
