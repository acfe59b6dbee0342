// SPDX-License-Identifier: Apache-2.0
#include "cli/render.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace penumbra::cli {
namespace {

using json = nlohmann::ordered_json;

struct Column {
  std::string group;  ///< key of the object with the column; empty: the row itself
  std::string key;
  bool numbers = true;   ///< every value is a number
  bool is_empty = true;  ///< every value is 0 or empty
  std::size_t width = 0;
  std::size_t least = 0;  ///< minimum width when the table is narrowed
};

bool is_whole(const json& value) {
  return value.is_number_integer() || value.is_number_unsigned();
}

std::string grouped(std::string digits) {
  if (digits.size() <= 4) return digits;
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

/// Groups the digits of a whole number, including those before a fraction or after a sign.
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

/// Separates the elements of an array by commas and the members of an object by spaces.
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

/// Returns the width on a terminal for UTF-8: the number of bytes that do not continue a character.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char letter) { return (static_cast<unsigned char>(letter) & 0xC0) != 0x80; }));
}

/// Returns the width of the longest word, but at least kReadable if the text is that long: narrower text is hard to
/// read.
std::size_t longest_word(const std::string& text) {
  constexpr std::size_t kReadable = 24;
  std::size_t longest = std::min(kReadable, width_of(text));
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    longest = std::max(longest, width_of(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return longest;
}

std::string header_of(const std::string& key) {
  std::string header = key;
  std::ranges::replace(header, '_', ' ');
  return header;
}

/// Collects the columns of a table.
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
  /// A column that earlier rows lack is inserted at its position in its own row.
  void add(const std::string& group, const std::string& key, const json& value) {
    auto column = std::ranges::find_if(columns_, [&](const auto& c) { return c.group == group && c.key == key; });
    if (column == columns_.end()) {
      column = columns_.insert(columns_.begin() + next_, {group, key, true, true, width_of(key), width_of(key)});
    }
    column->numbers = column->numbers && (value.is_number() || value.is_null());
    const std::string text = text_of(value);
    const bool is_empty = value.is_null() || value.empty() || value == 0 || (value.is_string() && text.empty());
    column->is_empty = column->is_empty && is_empty;
    column->width = std::max(column->width, width_of(text));
    column->least = std::max(column->least, value.is_number() ? width_of(text) : longest_word(text));
    next_ = column - columns_.begin() + 1;
  }

  std::vector<Column> columns_;
  std::ptrdiff_t next_ = 0;  ///< position after the last column of the row
};

std::string cell_text(const json& row, const Column& column) {
  if (column.group.empty()) return row.contains(column.key) ? text_of(row[column.key]) : "";
  const json group = row.value(column.group, json::object());
  return group.contains(column.key) ? text_of(group[column.key]) : "";
}

std::string without_end(const std::string& line) {
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

/// Folds the words into lines of at most `most` columns; a longer word has its own line.
std::vector<std::string> fold(const std::string& words, std::size_t most) {
  std::vector<std::string> lines{""};
  for (std::size_t begin = 0; begin <= words.size();) {
    const std::size_t end = std::min(words.find(' ', begin), words.size());
    const std::string word = words.substr(begin, end - begin);
    if (!lines.back().empty() && width_of(lines.back()) + 1 + width_of(word) > most) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    begin = end + 1;
  }
  return lines;
}

/// Returns a row, on as many lines as its longest cell needs.
std::string table_row(const std::vector<Column>& columns, const std::string& indent, const auto& cell) {
  std::vector<std::vector<std::string>> cells;
  std::size_t lines = 1;
  for (const auto& column : columns) {
    const std::string text = cell(column);
    cells.push_back(width_of(text) <= column.width ? std::vector{text} : fold(text, column.width));
    lines = std::max(lines, cells.back().size());
  }
  std::string row;
  for (std::size_t i = 0; i < lines; ++i) {
    std::string line = indent;
    for (std::size_t at = 0; at < columns.size(); ++at) {
      const std::string text = i < cells[at].size() ? cells[at][i] : "";
      const std::string padding(columns[at].width - std::min(columns[at].width, width_of(text)), ' ');
      line += columns[at].numbers ? padding + text + "  " : text + padding + "  ";
    }
    row += without_end(line);
  }
  return row;
}

/// Returns a line with the names of groups, each above its first column; empty if there are no groups.
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

std::size_t width_of(const std::vector<Column>& columns, const std::string& indent) {
  std::size_t width = width_of(indent);
  for (const auto& column : columns) width += column.width + 2;
  return width - 2;
}

/// Removes columns from the right until the table fits, only empty columns if `only_empty`. The first column stays.
void take_out(std::vector<Column>& columns, const std::string& indent, std::size_t most, bool only_empty) {
  for (std::size_t i = columns.size(); i-- > 1 && width_of(columns, indent) > most;) {
    if (columns[i].is_empty || !only_empty) columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

/// Narrows the widest text columns to several lines per row, until the table fits or all are narrow.
void shrink(std::vector<Column>& columns, const std::string& indent, std::size_t most) {
  for (std::size_t width = 0; (width = width_of(columns, indent)) > most;) {
    const auto widest = std::ranges::max_element(
        columns, {}, [](const Column& column) { return column.width > column.least ? column.width : 0; });
    if (widest->width <= widest->least) return;
    widest->width -= std::min(width - most, widest->width - widest->least);
  }
}

/// Makes the table fit. Returns the names of omitted columns, in order.
std::vector<std::string> narrow(std::vector<Column>& columns, const std::string& indent, std::size_t most) {
  const auto before = columns;
  take_out(columns, indent, most, true);
  shrink(columns, indent, most);
  take_out(columns, indent, most, false);
  std::vector<std::string> left_out;
  for (const auto& column : before) {
    const auto is_same = [&column](const Column& other) {
      return other.group == column.group && other.key == column.key;
    };
    if (std::ranges::any_of(columns, is_same)) continue;
    left_out.push_back(header_of(column.group.empty() ? column.key : column.group + " " + column.key));
  }
  return left_out;
}

std::string table(const json& rows, const std::string& indent, std::size_t most) {
  auto columns = Columns(rows).take();
  const auto left_out = narrow(columns, indent, most);
  std::string text = group_line(columns, indent);
  text += table_row(columns, indent, [](const Column& column) { return header_of(column.key); });
  for (const auto& row : rows) {
    text += table_row(columns, indent, [&row](const Column& column) { return cell_text(row, column); });
  }
  if (left_out.empty()) return text;
  for (const auto& line : fold(fmt::format("(--wide shows also: {})", fmt::join(left_out, ", ")), most)) {
    text += indent + line + "\n";
  }
  return text;
}

bool is_table(const json& value) {
  return value.is_array() && !value.empty() &&
         std::ranges::all_of(value, [](const json& row) { return row.is_object(); });
}

std::string fields(const json& object, const std::string& indent, std::size_t most) {
  std::size_t width = 0;
  for (const auto& [key, value] : object.items()) width = std::max(width, width_of(key));
  std::string text;
  for (const auto& [key, value] : object.items()) {
    const std::string name = indent + header_of(key) + ":";
    if (is_table(value)) {
      text += name + "\n" + table(value, indent + "  ", most);
    } else if (value.is_object()) {
      text += name + "\n" + fields(value, indent + "  ", most);
    } else {
      text += name + std::string(indent.size() + width + 2 - width_of(name), ' ') + text_of(value) + "\n";
    }
  }
  return text;
}

}  // namespace

std::string render(const json& value, std::size_t width) {
  if (value.is_null() || (value.is_array() && value.empty())) return "";
  if (is_table(value)) return table(value, "", width);
  if (value.is_object()) return fields(value, "", width);
  if (!value.is_array()) return text_of(value) + "\n";
  std::string text;
  for (const auto& element : value) text += text_of(element) + "\n";
  return text;
}

std::string group_digits(std::uint64_t number) {
  return grouped(std::to_string(number));
}

}  // namespace penumbra::cli
