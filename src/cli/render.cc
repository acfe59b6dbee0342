// SPDX-License-Identifier: Apache-2.0
#include "cli/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

namespace penumbra::cli {
namespace {

using json = nlohmann::ordered_json;

/// Most objects have their keys in alphabetical order: what names a thing comes first here, other texts follow, then
/// numbers, and sentences are last.
constexpr std::array kNamingKeys{"name", "stage",  "worker", "port",    "function", "prefix",
                                 "step", "packet", "engine", "address", "reason"};

struct Column {
  std::string key;
  bool numbers = true;  ///< every value is a number
  std::size_t width = 0;
};

bool is_whole(const json& value) {
  return value.is_number_integer() || value.is_number_unsigned();
}

std::string whole_text(const std::string& key, const json& value) {
  if (value.is_number_integer() && !value.is_number_unsigned() && value.get<std::int64_t>() < 0) return value.dump();
  const auto number = value.get<std::uint64_t>();
  return key.ends_with("bytes") ? readable_bytes(number) : group_digits(number);
}

std::string text_of(const std::string& key, const json& value) {
  if (value.is_null()) return "-";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return value.get<std::string>();
  if (is_whole(value)) return whole_text(key, value);
  if (value.is_number_float()) return fmt::format("{:.2f}", value.get<double>());
  std::string text;
  for (const auto& [name, element] : value.items()) {
    if (!text.empty()) text += value.is_object() || element.is_object() ? "; " : ", ";
    text += value.is_object() ? fmt::format("{} {}", name, text_of(name, element)) : text_of(key, element);
  }
  return text.empty() ? "-" : text;
}

/// Columns on a terminal, for UTF-8: bytes that do not continue a character.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char letter) { return (static_cast<unsigned char>(letter) & 0xC0) != 0x80; }));
}

std::string header_of(const std::string& key) {
  std::string header = key;
  std::ranges::replace(header, '_', ' ');
  return header;
}

std::size_t rank(const Column& column) {
  const auto naming = static_cast<std::size_t>(std::ranges::find(kNamingKeys, column.key) - kNamingKeys.begin());
  if (naming < kNamingKeys.size()) return naming;
  if (column.key == "help" || column.key == "summary") return kNamingKeys.size() + 2;
  return kNamingKeys.size() + (column.numbers ? 1 : 0);
}

std::vector<Column> columns_of(const json& rows) {
  std::vector<Column> columns;
  for (const auto& row : rows) {
    for (const auto& [key, value] : row.items()) {
      auto column = std::ranges::find(columns, key, &Column::key);
      if (column == columns.end()) column = columns.insert(columns.end(), {key, true, width_of(key)});
      column->numbers = column->numbers && (value.is_number() || value.is_null());
      column->width = std::max(column->width, width_of(text_of(key, value)));
    }
  }
  std::ranges::stable_sort(columns, {}, rank);
  return columns;
}

std::string table_line(const std::vector<Column>& columns, const std::string& indent, const auto& cell) {
  std::string line = indent;
  for (const auto& column : columns) {
    const std::string text = cell(column);
    const std::string padding(column.width - width_of(text), ' ');
    line += column.numbers ? padding + text + "  " : text + padding + "  ";
  }
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string table(const json& rows, const std::string& indent) {
  const auto columns = columns_of(rows);
  std::string text = table_line(columns, indent, [](const Column& column) { return header_of(column.key); });
  for (const auto& row : rows) {
    text += table_line(columns, indent, [&row](const Column& column) {
      return row.contains(column.key) ? text_of(column.key, row[column.key]) : std::string();
    });
  }
  return text;
}

bool is_table(const json& value) {
  return value.is_array() && !value.empty() &&
         std::ranges::all_of(value, [](const json& row) { return row.is_object(); });
}

std::string fields(const json& object) {
  std::size_t width = 0;
  for (const auto& [key, value] : object.items()) width = std::max(width, width_of(key));
  std::string text;
  for (const auto& [key, value] : object.items()) {
    const std::string name = header_of(key) + ":";
    text += is_table(value) ? name + "\n" + table(value, "  ")
                            : name + std::string(width + 2 - width_of(name), ' ') + text_of(key, value) + "\n";
  }
  return text;
}

}  // namespace

std::string render(const json& value) {
  if (value.is_null() || (value.is_array() && value.empty())) return "";
  if (is_table(value)) return table(value, "");
  if (value.is_object()) return fields(value);
  if (!value.is_array()) return text_of("", value) + "\n";
  std::string text;
  for (const auto& element : value) text += text_of("", element) + "\n";
  return text;
}

std::string group_digits(std::uint64_t number) {
  std::string digits = std::to_string(number);
  if (digits.size() <= 4) return digits;
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string readable_bytes(std::uint64_t bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace penumbra::cli
