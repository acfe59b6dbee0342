// SPDX-License-Identifier: Apache-2.0
//
// JSON for people: what `show` prints without -j.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace penumbra::cli {

/// Columns of a terminal that a table takes unless it is asked for whole; and what stands for no limit.
inline constexpr std::size_t kTableWidth = 100, kUnlimitedWidth = SIZE_MAX;

/// An array of objects becomes a table with a header, columns in the order of the keys, numbers to the right; an object
/// in a row becomes a group of columns. An object becomes lines "key: value", with tables and objects in it indented;
/// any other array a line per element. What is nested deeper is written on one line. Digits are grouped as
/// group_digits() does. Ends with a newline unless there is nothing to say.
///
/// A table wider than `width` leaves out columns in which every value is 0 or nothing, then breaks long texts over
/// several lines, then leaves out columns at its right end. Below it stand the names of what it leaves out. Its first
/// column stays.
std::string render(const nlohmann::ordered_json& value, std::size_t width = kTableWidth);

/// 1234567 as "1,234,567"; up to four digits stay together.
std::string group_digits(std::uint64_t number);

}  // namespace penumbra::cli
