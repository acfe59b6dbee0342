// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace penumbra::control {

/// Parses a whole number with its unit: "250us", "10ms", "30s", "2m". Returns nothing for other text.
std::optional<std::chrono::microseconds> parse_duration(std::string_view text);

}  // namespace penumbra::control
