// SPDX-License-Identifier: Apache-2.0
//
// Formats JSON as text, for `show` without -j.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace penumbra::cli {

/// Default width of a table in columns of a terminal, and the value for no limit.
inline constexpr std::size_t kTableWidth = 100, kUnlimitedWidth = SIZE_MAX;

/// Formats a JSON value. An array of objects becomes a table with a header, with columns in the order of the keys and
/// numbers aligned to the right. An object in a row becomes a group of columns. An object becomes lines "key: value"
/// with indented tables and objects. Any other array becomes one line per element. Deeper nesting is written on one
/// line. Digits are grouped like in group_digits(). The text ends with a newline unless it is empty.
///
/// A table wider than `width` first omits columns in which every value is 0 or empty. The table then breaks long texts
/// over several lines, and then omits columns at the right end. The names of omitted columns follow the table. The
/// first column always stays.
std::string render(const nlohmann::ordered_json& value, std::size_t width = kTableWidth);

/// Returns 1234567 as "1,234,567"; numbers of up to four digits are not grouped.
std::string group_digits(std::uint64_t number);

}  // namespace penumbra::cli
