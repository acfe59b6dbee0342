// SPDX-License-Identifier: Apache-2.0
//
// JSON for people: what `show` prints without -j.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace penumbra::cli {

/// An array of objects becomes a table with a header, columns in the order of the keys, numbers to the right; an object
/// in a row becomes a group of columns. An object becomes lines "key: value", with tables and objects in it indented;
/// any other array a line per element. What is nested deeper is written on one line. Digits are grouped as
/// group_digits() does. Ends with a newline unless there is nothing to say.
std::string render(const nlohmann::ordered_json& value);

/// 1234567 as "1,234,567"; up to four digits stay together.
std::string group_digits(std::uint64_t number);

}  // namespace penumbra::cli
