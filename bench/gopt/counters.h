// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace penumbra::bench {

/// Results of the processor's performance counters, without time in the kernel.
struct Counts {
  std::uint64_t instructions = 0;
  std::uint64_t cycles = 0;
};

/// Counts while the calling thread does `work`. Returns none if there are no counters, as in many virtual machines, or
/// if the system does not permit their use.
std::optional<Counts> counted(const std::function<void()>& work);

}  // namespace penumbra::bench
