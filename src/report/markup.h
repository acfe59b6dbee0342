// SPDX-License-Identifier: Apache-2.0
//
// Text of others in a page of ours, which is XML as well as HTML.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace penumbra::report {

/// As it may stand between tags and in quoted attributes. What XML has no place for becomes U+FFFD.
std::string escape(std::string_view text);
/// How many letters it has.
std::size_t letters_of(std::string_view text);
/// The first letters of it, with an ellipsis in place of the rest; not escaped. Letters are those of UTF-8.
std::string shortened(std::string_view text, std::size_t letters);
inline constexpr std::string_view kEllipsis = "\u2026";
/// In lines of so many letters at most, broken at spaces and behind commas; the last line is shortened.
std::vector<std::string> wrapped(std::string_view text, std::size_t letters, std::size_t lines);
/// What may be an id and a link's target: letters and digits as they are, anything else in hexadecimal.
std::string as_id(std::string_view text);

/// <tag>text</tag>, with the text escaped; `attributes` as they stand.
std::string element(std::string_view tag, std::string_view text, std::string_view attributes = "");

}  // namespace penumbra::report
