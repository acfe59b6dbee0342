// SPDX-License-Identifier: Apache-2.0
#include "report/json_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/figures.h"

namespace penumbra::report {
namespace {

/// Bounds of the magnitude of measured numbers, apart from 0. The bounds keep computed values finite.
constexpr double kLargestNumber = 1e30, kSmallestNumber = 1e-30;
constexpr std::size_t kLongestKeyShown = 60;

/// Returns line and column of the byte at `offset`.
SourceLocation location_of(std::string_view text, std::size_t offset, const std::string& file) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto lines = std::ranges::count(before, '\n');
  const std::size_t line_begins = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return {file, static_cast<int>(lines) + 1, static_cast<int>(before.size() - line_begins) + 1};
}

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& file) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    throw InputError(location_of(text, error.byte == 0 ? 0 : error.byte - 1, file), "this is no JSON");
  } catch (const nlohmann::json::exception&) {
    throw InputError({file}, "this is no JSON: a number in it is out of range");
  }
}

JsonView JsonView::member(const nlohmann::json& value, const std::string& key) const {
  const std::string shown = key.size() > kLongestKeyShown ? key.substr(0, kLongestKeyShown) + "..." : key;
  return {value, file_, path_.empty() ? shown : path_ + "." + shown};
}

JsonView JsonView::at(const std::string& key) const {
  if (!value_->is_object()) throw unexpected("an object");
  const auto found = value_->find(key);
  if (found == value_->end()) throw error(fmt::format("the key {} is missing", quote(key)));
  return member(*found, key);
}

std::optional<JsonView> JsonView::find(const std::string& key) const {
  if (!value_->is_object()) throw unexpected("an object");
  const auto found = value_->find(key);
  if (found == value_->end() || found->is_null()) return std::nullopt;
  return member(*found, key);
}

std::vector<std::pair<std::string, JsonView>> JsonView::members() const {
  if (!value_->is_object()) throw unexpected("an object");
  std::vector<std::pair<std::string, JsonView>> all;
  for (const auto& [key, value] : value_->items()) all.emplace_back(key, member(value, key));
  return all;
}

std::vector<JsonView> JsonView::list() const {
  if (!value_->is_array()) throw unexpected("a list");
  std::vector<JsonView> all;
  all.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i) {
    all.push_back(JsonView((*value_)[i], file_, fmt::format("{}[{}]", path_, i)));
  }
  return all;
}

std::string JsonView::text() const {
  if (!value_->is_string()) throw unexpected("text");
  return value_->get<std::string>();
}

double JsonView::number() const {
  if (!value_->is_number()) throw unexpected("a number");
  const auto value = value_->get<double>();
  const double size = std::abs(value);
  if (!(size <= kLargestNumber) || (size != 0 && size < kSmallestNumber))
    throw error("no measurement gives such a number");
  return value;
}

bool JsonView::truth() const {
  if (!value_->is_boolean()) throw unexpected("true or false");
  return value_->get<bool>();
}

std::string JsonView::text_or_number() const {
  if (value_->is_string()) return text();
  if (!value_->is_number()) throw unexpected("text or a number");
  if (value_->is_number_integer()) return value_->dump();
  return figure(number());
}

std::string JsonView::text_or_none(const std::string& key) const {
  const auto found = find(key);
  return found ? found->text() : std::string();
}

std::vector<JsonView> JsonView::list_or_none(const std::string& key) const {
  const auto found = find(key);
  return found ? found->list() : std::vector<JsonView>();
}

InputError JsonView::error(const std::string& message) const {
  return {{*file_}, path_.empty() ? message : path_ + ": " + message};
}

InputError JsonView::unexpected(const std::string& expected) const {
  const std::string found = value_->is_string() ? quote(value_->get<std::string>()) : value_->type_name();
  return error(fmt::format("expected {}, found {}", expected, found));
}

}  // namespace penumbra::report
