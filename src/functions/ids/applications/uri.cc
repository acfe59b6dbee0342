// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/applications/uri.h"

#include <algorithm>
#include <cstddef>

namespace penumbra::ids {
namespace {

int digit_of(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  const char small = static_cast<char>(letter | 0x20);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/// Returns the number of `digits` hexadecimal digits, or -1.
int number_of(std::string_view text, std::size_t digits) {
  if (text.size() < digits) return -1;
  int number = 0;
  for (const char letter : text.substr(0, digits)) {
    const int digit = digit_of(letter);
    if (digit < 0) return -1;
    number = number * 16 + digit;
  }
  return number;
}

/// Takes the next letter of `text`, decoded.
char next_letter(std::string_view& text) {
  constexpr int kFullWidth = 0xFF00, kFullWidthOfAscii = 0xFEE0;
  const char letter = text[0];
  if (letter == '%') {
    if (const int number = number_of(text.substr(1), 2); number >= 0) {
      text.remove_prefix(3);
      return static_cast<char>(number);
    }
    const bool is_unicode = text.size() > 1 && (text[1] == 'u' || text[1] == 'U');
    if (const int number = is_unicode ? number_of(text.substr(2), 4) : -1; number >= 0) {
      text.remove_prefix(6);
      // The full-width forms of ASCII are taken as ASCII by servers that decode %u.
      if (number < 0x100) return static_cast<char>(number);
      return number > kFullWidth && number <= kFullWidth + 0x5E ? static_cast<char>(number - kFullWidthOfAscii) : '?';
    }
  }
  text.remove_prefix(1);
  return letter;
}

std::string_view without_authority(std::string_view uri) {
  const std::size_t scheme = uri.find("://");
  // A scheme precedes the first slash, question mark and number sign.
  if (scheme == std::string_view::npos || uri.find_first_of("/?#") < scheme) return uri;
  const std::size_t path = uri.find_first_of("/?#", scheme + 3);
  return path == std::string_view::npos ? std::string_view{} : uri.substr(path);
}

/// Takes the last segment out of a path that ends in "/".
void remove_segment(std::string& normal, std::size_t begin) {
  if (normal.size() <= begin + 1) return;
  const std::size_t slash = normal.rfind('/', normal.size() - 2);
  normal.resize(slash == std::string::npos || slash < begin ? begin : slash + 1);
}

/// Removes a dot segment at the end of a path. `is_last` is true if no slash follows.
void remove_dots(std::string& normal, std::size_t begin, bool is_last) {
  const std::string_view path = std::string_view(normal).substr(begin);
  const std::size_t from = path.rfind('/');
  if (from == std::string_view::npos) return;
  const std::string_view segment = path.substr(from + 1);
  if (segment == "." || segment == "..") {
    const bool is_parent = segment.size() == 2;
    normal.resize(begin + from + 1);
    if (is_parent) remove_segment(normal, begin);
  } else if (!is_last) {
    normal += '/';
  }
}

}  // namespace

void normalize_uri(std::string_view uri, std::string& normal) {
  std::string_view rest = without_authority(uri);
  rest = rest.substr(0, rest.find('#'));
  const std::size_t query = rest.find('?');
  std::string_view path = rest.substr(0, query);
  const std::size_t begin = normal.size();
  while (!path.empty()) {
    const char letter = next_letter(path);
    if (letter != '/' && letter != '\\') {
      normal += letter;
    } else if (normal.size() == begin) {
      normal += '/';
    } else if (normal.back() != '/') {
      remove_dots(normal, begin, false);
      if (normal.find('/', begin) == std::string::npos) normal += '/';
    }
  }
  remove_dots(normal, begin, true);
  if (query == std::string_view::npos) return;
  normal += '?';
  std::string_view parameters = rest.substr(query + 1);
  while (!parameters.empty()) normal += next_letter(parameters);
}

std::string_view authority_of(std::string_view uri) {
  const std::string_view rest = without_authority(uri);
  if (rest.size() == uri.size()) return {};
  const std::string_view before = uri.substr(0, uri.size() - rest.size());
  std::string_view authority = before.substr(before.find("://") + 3);
  const std::size_t user = authority.rfind('@');
  return user == std::string_view::npos ? authority : authority.substr(user + 1);
}

void normalize_host(std::string_view host, std::string& normal) {
  // An IPv6 address in brackets has colons of its own.
  const std::size_t bracket = host.starts_with('[') ? host.find(']') : 0;
  const std::size_t colon = bracket == std::string_view::npos ? bracket : host.find(':', bracket);
  for (const char letter : host.substr(0, colon)) {
    normal += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter | 0x20) : letter;
  }
}

}  // namespace penumbra::ids
