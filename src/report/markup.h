// SPDX-License-Identifier: Apache-2.0
//
// Inserts foreign text into our page, which is XML as well as HTML.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace penumbra::report {

/// Escapes a text for use between tags and in quoted attributes. Characters that XML does not allow become U+FFFD.
std::string escape(std::string_view text);
/// Returns the number of letters.
std::size_t letters_of(std::string_view text);
/// Returns the first letters, with an ellipsis for the rest; not escaped. Letters are those of UTF-8.
std::string shortened(std::string_view text, std::size_t letters);
inline constexpr std::string_view kEllipsis = "\u2026";
/// Splits a text into lines of at most `letters` letters at spaces and after commas; the last line is shortened.
std::vector<std::string> wrapped(std::string_view text, std::size_t letters, std::size_t lines);
/// Returns a text for use as an id and link target. Letters and digits stay; other characters become hexadecimal.
std::string as_id(std::string_view text);

/// Returns <tag>text</tag> with the text escaped; `attributes` are not changed.
std::string element(std::string_view tag, std::string_view text, std::string_view attributes = "");

}  // namespace penumbra::report
