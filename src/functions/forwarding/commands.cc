// SPDX-License-Identifier: Apache-2.0
#include "functions/forwarding/commands.h"

#include <algorithm>

#include "penumbra/ip.h"

namespace penumbra::forwarding {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view take_word(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(kBlanks), line.size());
  const std::size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

/// Ignores a gateway after `via inet6`, because it belongs to an IPv4 route (RFC 8950).
bool names_ipv6(std::string_view line) {
  for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
    if (word == "inet6") {
      take_word(line);
    } else if (word.find(':') != std::string_view::npos && !parse_mac_address(word)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string lines_of_family(std::string_view text, bool ipv6) {
  std::string lines;
  bool is_ipv6 = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    std::string_view words = line.substr(0, line.find('#'));
    const bool names = names_ipv6(words);
    if (take_word(words) != "nexthop") is_ipv6 = names;
    if (is_ipv6 == ipv6) lines += line;
    lines += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace penumbra::forwarding
