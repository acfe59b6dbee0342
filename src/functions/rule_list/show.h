// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>

#include "base/row_limit.h"
#include "functions/rule_list/change.h"
#include "functions/rule_list/list.h"
#include "penumbra/errors.h"

namespace penumbra::rule_list {

/// Returns the line of an entry in its file, or null if no file has it.
inline nlohmann::ordered_json line_or_null(std::uint32_t line) {
  return line == 0 || line == kByCommand ? nlohmann::ordered_json() : nlohmann::ordered_json(line);
}

/// Returns the answer to `show TOPIC [all] [--limit N]`: the entries with their decisions. The words of an entry appear
/// under `column`. With `has_places`, its place in the list appears under `at`.
template <class Entry, class Text>
nlohmann::ordered_json show_entries(const List<Entry>& list, const std::string& topic, const char* column,
                                    std::span<const std::string> arguments, const Text& text_of,
                                    bool has_places = false) {
  using nlohmann::ordered_json;
  const RowLimit limit(arguments);
  if (!limit.rest().empty()) throw std::invalid_argument(topic + " does not take " + quote(limit.rest().front()));
  const std::uint64_t now = steady_ms();
  auto rows = ordered_json::array();
  const std::size_t total = list.entries().size(), shown = std::min(limit.most(), total);
  for (std::size_t i = 0; i < shown; ++i) {
    const Entry& entry = list.entries()[i];
    const Hits hits = list.hits(i);
    auto& row = rows.emplace_back();
    if (has_places) row["at"] = entry.line == 0 ? ordered_json() : ordered_json(i + 1);
    row["line"] = line_or_null(entry.line);
    row[column] = text_of(entry);
    row["packets"] = hits.packets;
    row["bytes"] = hits.bytes;
    row["last_hit_seconds_ago"] =
        hits.last_ms == 0 ? ordered_json() : ordered_json(static_cast<double>(now - hits.last_ms) / 1000);
  }
  return RowLimit::answer(topic, std::move(rows), shown, total);
}

}  // namespace penumbra::rule_list
