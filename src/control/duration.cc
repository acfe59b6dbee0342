// SPDX-License-Identifier: Apache-2.0
#include "control/duration.h"

#include <charconv>
#include <cstdint>
#include <system_error>

namespace penumbra::control {

std::optional<std::chrono::microseconds> parse_duration(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, text.data() + text.size());
  if (failure != std::errc{}) return std::nullopt;
  if (unit == "us") return std::chrono::microseconds(number);
  if (unit == "ms") return std::chrono::milliseconds(number);
  if (unit == "s") return std::chrono::seconds(number);
  if (unit == "m") return std::chrono::minutes(number);
  return std::nullopt;
}

}  // namespace penumbra::control
