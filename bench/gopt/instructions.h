// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace penumbra::bench {

/// How many instructions `work` takes, counted one by one: a child does it under the eyes of its parent. That takes
/// microseconds an instruction, but no hardware counters, which virtual machines seldom have. Nothing if children may
/// not be traced.
std::optional<std::uint64_t> instructions(const std::function<void()>& work);

}  // namespace penumbra::bench
