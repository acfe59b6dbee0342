// SPDX-License-Identifier: Apache-2.0
//
// How batches of one shader on one table travel. What is best depends on the shader and on the machine, so it is
// measured (launch_thread_calibration.cc) and told to later runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cuda/device.h"

namespace penumbra::cuda {

/// What a launch works on.
enum class Access : std::uint8_t {
  copied,     ///< copies of the columns in the GPU's memory
  mapped,     ///< the columns in the host's memory
  by_length,  ///< on copies of long columns
};

inline constexpr unsigned kMostStreams = 16;

struct LaunchPlan {
  unsigned streams = 4;  ///< launches in flight at once
  unsigned gather = 32;  ///< batches in one launch at most, up to kMostSegments
  Access access = Access::by_length;

  bool operator==(const LaunchPlan&) const = default;
};

/// What a person has decided; the rest is measured.
struct PlanConstraints {
  std::optional<unsigned> streams = std::nullopt, gather = std::nullopt;
  std::optional<Access> access = std::nullopt;

  bool decides_all() const { return streams && gather && access; }
  bool allows(const LaunchPlan& plan) const;
  /// The plan as far as nothing else is requested.
  LaunchPlan applied_to(LaunchPlan plan) const;
  /// As it is told: "streams=1,mapped=1"; empty: nothing is requested.
  std::string text() const;
};

/// As an EngineCalibration has it; and back: none of a value that is of no plan.
std::uint64_t to_value(const LaunchPlan& plan);
std::optional<LaunchPlan> plan_of(std::uint64_t value);
/// For people: "4 streams, up to 32 batches a launch, long ones copied".
std::string describe(const LaunchPlan& plan);

}  // namespace penumbra::cuda
