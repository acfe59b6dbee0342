// SPDX-License-Identifier: Apache-2.0
//
// Splits and reads the words of an option's value. All views are parts of the rule's text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "functions/ids/rules/interval.h"

namespace penumbra::ids {

std::string_view trim_left(std::string_view text);
std::string_view trim_right(std::string_view text);
std::string_view trim(std::string_view text);
std::string lower(std::string_view text);

/// Splits at each separator and trims the parts. An empty text gives one empty part.
std::vector<std::string_view> split(std::string_view text, char separator);
/// Splits "NAME REST" at the first run of blanks. `rest` is empty, at the end of `text`, if there is only a name.
struct NameAndRest {
  std::string_view name;
  std::string_view rest;
};
NameAndRest split_name(std::string_view text);

/// Reads a whole decimal number, or a hexadecimal number with 0x. Returns nothing for another text or above 64 bits.
std::optional<std::uint64_t> parse_unsigned(std::string_view text);
/// Reads a whole number with an optional sign.
std::optional<std::int64_t> parse_signed(std::string_view text);
/// Reads "N", "=N", "!N", "!=N", "<N", "<=N", ">N", ">=N", "A<>B" or "A-B". Both ends of a range are excluded. Returns
/// nothing if the text is wrong, a number is above `most`, or no number matches.
std::optional<Interval> parse_interval(std::string_view text, std::uint64_t most);

}  // namespace penumbra::ids
