// SPDX-License-Identifier: Apache-2.0
//
// Describes how batches of one shader on one table are launched. The best plan depends on the shader and the machine.
// The launch thread therefore measures the plan (launch_thread_calibration.cc), and it is stored for later runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cuda/device.h"

namespace penumbra::cuda {

/// Memory that a launch works on.
enum class Access : std::uint8_t {
  copied,     ///< Copies of the columns in GPU memory.
  mapped,     ///< The columns in host memory.
  by_length,  ///< Copies for long columns, host memory for short ones.
};

inline constexpr unsigned kMostStreams = 16;

struct LaunchPlan {
  unsigned streams = 4;  ///< Launches in flight.
  unsigned gather = 32;  ///< Most batches of a launch, up to kMostSegments.
  Access access = Access::by_length;

  bool operator==(const LaunchPlan&) const = default;
};

/// Settings of a plan that the user has fixed; the rest is measured.
struct PlanConstraints {
  std::optional<unsigned> streams = std::nullopt, gather = std::nullopt;
  std::optional<Access> access = std::nullopt;

  bool decides_all() const { return streams && gather && access; }
  bool allows(const LaunchPlan& plan) const;
  /// Returns `plan` with the fixed settings applied.
  LaunchPlan applied_to(LaunchPlan plan) const;
  /// Returns the constraints as settings, "streams=1,mapped=1"; empty if there are none.
  std::string text() const;
};

/// Converts a plan to and from EngineCalibration::value. plan_of() returns none if `value` does not describe a plan.
std::uint64_t to_value(const LaunchPlan& plan);
std::optional<LaunchPlan> plan_of(std::uint64_t value);
/// Returns text for people: "4 streams, up to 32 batches a launch, long ones copied".
std::string describe(const LaunchPlan& plan);

}  // namespace penumbra::cuda
