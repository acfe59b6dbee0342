// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace penumbra::bench {

/// What the processor's own counters say of some work, outside of the kernel.
struct Counts {
  std::uint64_t instructions = 0;
  std::uint64_t cycles = 0;
};

/// Counts while the calling thread does `work`. Nothing where there are no counters, as in many virtual machines, or
/// the system gives them to nobody.
std::optional<Counts> counted(const std::function<void()>& work);

}  // namespace penumbra::bench
