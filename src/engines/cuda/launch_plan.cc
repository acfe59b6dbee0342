// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch_plan.h"

#include <array>
#include <cstddef>

namespace penumbra::cuda {
namespace {

constexpr std::array<const char*, 3> kAccessWords{"copied", "on the host's memory", "long ones copied"};

}  // namespace

bool PlanConstraints::allows(const LaunchPlan& plan) const {
  return applied_to(plan) == plan;
}

LaunchPlan PlanConstraints::applied_to(LaunchPlan plan) const {
  plan.streams = streams.value_or(plan.streams);
  plan.gather = gather.value_or(plan.gather);
  plan.access = access.value_or(plan.access);
  return plan;
}

std::string PlanConstraints::text() const {
  std::string text;
  const auto add = [&text](const char* name, unsigned value) {
    text += (text.empty() ? "" : ",") + std::string(name) + "=" + std::to_string(value);
  };
  if (streams) add("streams", *streams);
  if (gather) add("gather", *gather);
  if (access) add("mapped", *access == Access::mapped ? 1 : 0);
  return text;
}

std::uint64_t to_value(const LaunchPlan& plan) {
  return std::uint64_t{plan.streams} << 16 | std::uint64_t{plan.gather} << 8 | static_cast<std::uint64_t>(plan.access);
}

std::optional<LaunchPlan> plan_of(std::uint64_t value) {
  const std::uint64_t streams = value >> 16, gather = value >> 8 & 0xFF, access = value & 0xFF;
  if (streams < 1 || streams > kMostStreams || gather < 1 || gather > kMostSegments || access >= kAccessWords.size()) {
    return std::nullopt;
  }
  return LaunchPlan{.streams = static_cast<unsigned>(streams),
                    .gather = static_cast<unsigned>(gather),
                    .access = static_cast<Access>(access)};
}

std::string describe(const LaunchPlan& plan) {
  return std::to_string(plan.streams) + " streams, up to " + std::to_string(plan.gather) + " batches a launch, " +
         kAccessWords[static_cast<std::size_t>(plan.access)];
}

}  // namespace penumbra::cuda
