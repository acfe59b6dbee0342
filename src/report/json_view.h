// SPDX-License-Identifier: Apache-2.0
//
// Gives a checked view of JSON. Errors name the place, the expected value and the value found.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penumbra/errors.h"

namespace penumbra::report {

/// Parses JSON; errors name the text `file`. Throws InputError at the line and column of invalid JSON.
nlohmann::json parse_json(std::string_view text, const std::string& file);

/// One value of a document, which must outlive the view. All accessors throw InputError with the file's name and the
/// value's path, such as "results[0].unit".
class JsonView {
 public:
  JsonView(const nlohmann::json& value, const std::string& file) : value_(&value), file_(&file) {}

  bool is_text() const { return value_->is_string(); }
  bool is_number() const { return value_->is_number(); }
  /// Returns the member `key`. A missing member is an error.
  JsonView at(const std::string& key) const;
  /// Returns the member `key`, or nothing if it is missing or null.
  std::optional<JsonView> find(const std::string& key) const;
  /// Returns the members by name.
  std::vector<std::pair<std::string, JsonView>> members() const;
  /// Returns the elements of a list.
  std::vector<JsonView> list() const;
  std::string text() const;
  /// Returns a number; its magnitude must be plausible for a measurement.
  double number() const;
  bool truth() const;
  /// Returns a text, or a number as text. An integer keeps its digits.
  std::string text_or_number() const;
  /// Return the member `key`, or an empty value if it is missing.
  std::string text_or_none(const std::string& key) const;
  std::vector<JsonView> list_or_none(const std::string& key) const;

  /// Returns an error at this value, for a check that the caller makes.
  InputError error(const std::string& message) const;

 private:
  JsonView(const nlohmann::json& value, const std::string* file, std::string path)
      : value_(&value), file_(file), path_(std::move(path)) {}
  JsonView member(const nlohmann::json& value, const std::string& key) const;
  InputError unexpected(const std::string& expected) const;

  const nlohmann::json* value_;
  const std::string* file_;
  std::string path_;
};

}  // namespace penumbra::report
