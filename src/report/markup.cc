// SPDX-License-Identifier: Apache-2.0
#include "report/markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace penumbra::report {
namespace {

constexpr std::string_view kNoCharacter = "\xEF\xBF\xBD";

bool continues_a_letter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80;
}

/// Returns true for U+FFFE and U+FFFF, which XML does not allow.
bool is_no_character(std::string_view text) {
  return text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF");
}

bool is_digit(char letter) {
  return std::isdigit(static_cast<unsigned char>(letter)) != 0;
}

/// Returns the position where a line of at most `letters` letters may end, or 0 if nowhere.
std::size_t end_of_line(std::string_view text, std::size_t letters) {
  std::size_t end = 0, count = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (continues_a_letter(text[i])) continue;
    if (text[i] == ' ' && i > 0) end = i;
    if (++count > letters) break;
    if (text[i] == ',' && !is_digit(text[i + 1])) end = i + 1;
  }
  return end;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string all;
  all.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (letter == '&') {
      all += "&amp;";
    } else if (letter == '<') {
      all += "&lt;";
    } else if (letter == '>') {
      all += "&gt;";
    } else if (letter == '"') {
      all += "&quot;";
    } else if (letter == '\'') {
      all += "&#39;";
    } else if (static_cast<unsigned char>(letter) < 0x20 && letter != '\n' && letter != '\t') {
      all += kNoCharacter;
    } else if (is_no_character(text.substr(i))) {
      all += kNoCharacter;
      i += 2;
    } else {
      all += letter;
    }
  }
  return all;
}

std::size_t letters_of(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, continues_a_letter));
}

std::string shortened(std::string_view text, std::size_t letters) {
  std::size_t end = 0;
  for (std::size_t count = 0; end < text.size(); ++end) {
    if (continues_a_letter(text[end])) continue;
    if (++count == letters && end + 1 < text.size()) {
      std::size_t next = end + 1;
      while (next < text.size() && continues_a_letter(text[next])) ++next;
      if (next < text.size()) return std::string(text.substr(0, end)).append(kEllipsis);
    }
  }
  return std::string(text);
}

std::vector<std::string> wrapped(std::string_view text, std::size_t letters, std::size_t lines) {
  std::vector<std::string> all;
  while (all.size() + 1 < lines && letters_of(text) > letters) {
    const std::size_t end = end_of_line(text, letters);
    if (end == 0) break;
    all.emplace_back(text.substr(0, end));
    text.remove_prefix(text[end] == ' ' ? end + 1 : end);
  }
  all.push_back(shortened(text, letters));
  return all;
}

std::string as_id(std::string_view text) {
  std::string all;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    all += byte < 0x80 && std::isalnum(byte) != 0 ? std::string(1, letter) : fmt::format("-{:02x}", byte);
  }
  return all;
}

std::string element(std::string_view tag, std::string_view text, std::string_view attributes) {
  return fmt::format("<{0}{1}{2}>{3}</{0}>", tag, attributes.empty() ? "" : " ", attributes, escape(text));
}

}  // namespace penumbra::report
