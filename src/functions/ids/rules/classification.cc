// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/rules/classification.h"

#include "functions/ids/rules/source.h"
#include "functions/ids/rules/words.h"

namespace penumbra::ids {
namespace {

/// Returns the text after "config KIND:".
std::string_view after_kind(const RuleSource& source, std::string_view kind) {
  const auto [config, rest] = split_name(source.text());
  const std::size_t colon = rest.find(':');
  if (config != "config" || colon == std::string_view::npos || trim(rest.substr(0, colon)) != kind) {
    throw source.error(trim(source.text()), "line is not 'config " + std::string(kind) + ": ...'");
  }
  return trim(rest.substr(colon + 1));
}

}  // namespace

void read_classifications(std::string_view text, const std::string& file, Classifications& classifications) {
  LineJoiner lines(file, text);
  while (const auto line = lines.next()) {
    const std::string_view entry = after_kind(*line, "classification");
    const auto parts = split(entry, ',');
    if (parts.size() < 3 || parts[0].empty()) throw line->error(entry, "entry is not 'NAME,DESCRIPTION,PRIORITY'");
    const auto priority = parse_unsigned(parts.back());
    if (!priority || *priority == 0 || *priority > 255) throw line->error(parts.back(), "priority is not 1 to 255");
    const auto* const begin = parts[1].data();
    const std::string_view description(begin, static_cast<std::size_t>(parts.back().data() - begin));
    classifications.try_emplace(lower(parts[0]),
                                Classification{std::string(trim(description.substr(0, description.rfind(',')))),
                                               static_cast<std::uint32_t>(*priority)});
  }
}

void read_references(std::string_view text, const std::string& file, References& references) {
  LineJoiner lines(file, text);
  while (const auto line = lines.next()) {
    const std::string_view entry = after_kind(*line, "reference");
    const auto [name, url] = split_name(entry);
    if (url.empty()) throw line->error(entry, "entry is not 'NAME URL'");
    references.try_emplace(lower(name), url);
  }
}

}  // namespace penumbra::ids
