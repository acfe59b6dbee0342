// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/rules/yaml_values.h"

#include <charconv>
#include <string>
#include <string_view>

#include "functions/ids/rules/words.h"

namespace penumbra::ids {

bool is_set(const ConfigNode& node) {
  return node.present() && !node.is_null();
}

bool flag_of(const ConfigNode& map, const char* key, bool otherwise) {
  const ConfigNode node = map.get(key);
  if (!is_set(node)) return otherwise;
  const std::string word = lower(node.text());
  for (const std::string_view yes : {"true", "yes", "on", "1"}) {
    if (word == yes) return true;
  }
  for (const std::string_view no : {"false", "no", "off", "0", "auto"}) {
    if (word == no) return false;
  }
  throw node.error("found " + quote(word) + ", needs yes or no");
}

std::uint64_t bytes_of(const ConfigNode& node) {
  const std::string text = lower(node.text());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = trim(std::string_view(text).substr(static_cast<std::size_t>(end - text.data())));
  const unsigned shift = unit == "kb" ? 10 : unit == "mb" ? 20 : unit == "gb" ? 30 : 0;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 20;
  if (error != std::errc() || number > kMost << (30 - shift) || (shift == 0 && !unit.empty())) {
    throw node.error("found " + quote(text) + ", needs a number of bytes, also with kb, mb or gb");
  }
  return number << shift;
}

std::string header_text_of(const ConfigNode& node) {
  if (!node.is_list()) return node.text();
  std::string list;
  for (const ConfigNode& member : node.list()) list += (list.empty() ? "" : ",") + member.text();
  return "[" + list + "]";
}

}  // namespace penumbra::ids
