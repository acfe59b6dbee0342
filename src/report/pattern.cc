// SPDX-License-Identifier: Apache-2.0
#include "report/pattern.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>

namespace penumbra::report {
namespace {

char lower(char letter) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
}

std::string in_lower_case(std::string_view text) {
  std::string all(text);
  std::ranges::transform(all, all.begin(), lower);
  return all;
}

/// Matches one part between `|`. The texts between its stars must follow each other; each is found at the earliest
/// position.
bool matches_part(std::string_view part, std::string_view text) {
  bool at_begin = part.starts_with('^');
  if (at_begin) part.remove_prefix(1);
  const bool at_end = part.ends_with('$');
  if (at_end) part.remove_suffix(1);
  for (;;) {
    const std::size_t star = part.find('*');
    const std::string_view piece = part.substr(0, star);
    const bool is_last = star == std::string_view::npos;
    if (at_begin && !text.starts_with(piece)) return false;
    if (is_last && at_end) return at_begin ? text == piece : text.ends_with(piece);
    const std::size_t found = text.find(piece);
    if (found == std::string_view::npos) return false;
    if (is_last) return true;
    text.remove_prefix(found + piece.size());
    part.remove_prefix(star + 1);
    at_begin = false;
  }
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
  const std::string wanted = in_lower_case(pattern), found = in_lower_case(text);
  for (std::string_view rest = wanted;;) {
    const std::size_t bar = rest.find('|');
    if (matches_part(rest.substr(0, bar), found)) return true;
    if (bar == std::string_view::npos) return false;
    rest.remove_prefix(bar + 1);
  }
}

}  // namespace penumbra::report
