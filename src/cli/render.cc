// SPDX-License-Identifier: Apache-2.0
#include "cli/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace penumbra::cli {
namespace {

using json = nlohmann::ordered_json;

struct Column {
  std::string group;  ///< the key of the object that it stands in; empty: the row itself
  std::string key;
  bool numbers = true;  ///< every value is a number
  std::size_t width = 0;
};

bool is_whole(const json& value) {
  return value.is_number_integer() || value.is_number_unsigned();
}

std::string grouped(std::string digits) {
  if (digits.size() <= 4) return digits;
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

/// The digits of a whole number, before a fraction or behind a sign too, are grouped.
std::string number_text(const json& value) {
  if (value.is_number_unsigned()) return group_digits(value.get<std::uint64_t>());
  if (is_whole(value)) {
    const auto number = value.get<std::int64_t>();
    const auto size = static_cast<std::uint64_t>(number);
    return number < 0 ? "-" + group_digits(0 - size) : group_digits(size);
  }
  const std::string digits = fmt::format("{:.2f}", value.get<double>());
  const std::size_t begin = digits.starts_with('-') ? 1 : 0, end = std::min(digits.find('.'), digits.size());
  return digits.substr(0, begin) + grouped(digits.substr(begin, end - begin)) + digits.substr(end);
}

/// Elements of an array behind commas, names and values of an object behind blanks.
std::string text_of(const json& value) {
  if (value.is_null()) return "-";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return number_text(value);
  std::string text;
  for (const auto& [name, element] : value.items()) {
    if (!text.empty()) text += value.is_object() ? " " : ", ";
    text += value.is_object() ? name + " " + text_of(element) : text_of(element);
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

/// A table's columns while they are collected.
class Columns {
 public:
  explicit Columns(const json& rows) {
    for (const auto& row : rows) {
      next_ = 0;
      for (const auto& [key, value] : row.items()) {
        if (!value.is_object()) {
          add("", key, value);
          continue;
        }
        for (const auto& [inner_key, inner] : value.items()) add(key, inner_key, inner);
      }
    }
  }
  std::vector<Column> take() { return std::move(columns_); }

 private:
  /// A column that earlier rows lack stands where its own row has it.
  void add(const std::string& group, const std::string& key, const json& value) {
    auto column = std::ranges::find_if(columns_, [&](const auto& c) { return c.group == group && c.key == key; });
    if (column == columns_.end()) {
      column = columns_.insert(columns_.begin() + next_, {group, key, true, width_of(key)});
    }
    column->numbers = column->numbers && (value.is_number() || value.is_null());
    column->width = std::max(column->width, width_of(text_of(value)));
    next_ = column - columns_.begin() + 1;
  }

  std::vector<Column> columns_;
  std::ptrdiff_t next_ = 0;  ///< behind the row's last one
};

std::string cell_text(const json& row, const Column& column) {
  if (column.group.empty()) return row.contains(column.key) ? text_of(row[column.key]) : "";
  const json group = row.value(column.group, json::object());
  return group.contains(column.key) ? text_of(group[column.key]) : "";
}

std::string without_end(const std::string& line) {
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string table_line(const std::vector<Column>& columns, const std::string& indent, const auto& cell) {
  std::string line = indent;
  for (const auto& column : columns) {
    const std::string text = cell(column);
    const std::string padding(column.width - width_of(text), ' ');
    line += column.numbers ? padding + text + "  " : text + padding + "  ";
  }
  return without_end(line);
}

/// The names of groups, each where its first column begins; nothing if there are none.
std::string group_line(const std::vector<Column>& columns, const std::string& indent) {
  std::string line = indent, before;
  std::size_t begin = width_of(indent);
  for (const auto& column : columns) {
    if (!column.group.empty() && column.group != before) {
      const std::size_t width = width_of(line);
      line += std::string(begin > width ? begin - width : 0, ' ') + header_of(column.group) + "  ";
    }
    before = column.group;
    begin += column.width + 2;
  }
  return line == indent ? "" : without_end(line);
}

std::string table(const json& rows, const std::string& indent) {
  const auto columns = Columns(rows).take();
  std::string text = group_line(columns, indent);
  text += table_line(columns, indent, [](const Column& column) { return header_of(column.key); });
  for (const auto& row : rows) {
    text += table_line(columns, indent, [&row](const Column& column) { return cell_text(row, column); });
  }
  return text;
}

bool is_table(const json& value) {
  return value.is_array() && !value.empty() &&
         std::ranges::all_of(value, [](const json& row) { return row.is_object(); });
}

std::string fields(const json& object, const std::string& indent) {
  std::size_t width = 0;
  for (const auto& [key, value] : object.items()) width = std::max(width, width_of(key));
  std::string text;
  for (const auto& [key, value] : object.items()) {
    const std::string name = indent + header_of(key) + ":";
    if (is_table(value)) {
      text += name + "\n" + table(value, indent + "  ");
    } else if (value.is_object()) {
      text += name + "\n" + fields(value, indent + "  ");
    } else {
      text += name + std::string(indent.size() + width + 2 - width_of(name), ' ') + text_of(value) + "\n";
    }
  }
  return text;
}

}  // namespace

std::string render(const json& value) {
  if (value.is_null() || (value.is_array() && value.empty())) return "";
  if (is_table(value)) return table(value, "");
  if (value.is_object()) return fields(value, "");
  if (!value.is_array()) return text_of(value) + "\n";
  std::string text;
  for (const auto& element : value) text += text_of(element) + "\n";
  return text;
}

std::string group_digits(std::uint64_t number) {
  return grouped(std::to_string(number));
}

}  // namespace penumbra::cli
