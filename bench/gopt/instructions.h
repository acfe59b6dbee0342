// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace penumbra::bench {

/// Returns the number of instructions of `work`, by tracing a child in single steps. An instruction takes microseconds,
/// but no performance counters are needed, which virtual machines seldom have. Returns none if children may not be
/// traced.
std::optional<std::uint64_t> instructions(const std::function<void()>& work);

}  // namespace penumbra::bench
