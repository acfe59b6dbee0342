// SPDX-License-Identifier: Apache-2.0
//
// JSON for people: what `show` prints without -j.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace penumbra::cli {

/// An array of objects becomes a table with a header (numbers to the right); an object becomes lines "key: value", with
/// tables in it indented; any other array a line per element. What is nested deeper is written compactly. Whole numbers
/// of five digits and more are grouped; values of keys that end in "bytes" carry a unit. Ends with a newline unless
/// there is nothing to say.
std::string render(const nlohmann::ordered_json& value);

/// 1234567 as "1,234,567"; up to four digits stay together.
std::string group_digits(std::uint64_t number);
/// 35651584 as "34.0 MiB".
std::string readable_bytes(std::uint64_t bytes);

}  // namespace penumbra::cli
