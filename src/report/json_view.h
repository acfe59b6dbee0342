// SPDX-License-Identifier: Apache-2.0
//
// A checked view of JSON: every accessor says where it looked, what it expected and what it found.
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

/// JSON from a text; `file` stands for it in errors. Throws InputError at the line and column where it is none.
nlohmann::json parse_json(std::string_view text, const std::string& file);

/// One value of a document, which has to outlive the view. All accessors throw InputError with the file's name and the
/// value's path, as in "results[0].unit".
class JsonView {
 public:
  JsonView(const nlohmann::json& value, const std::string& file) : value_(&value), file_(&file) {}

  bool is_text() const { return value_->is_string(); }
  bool is_number() const { return value_->is_number(); }
  /// The member `key`; an error if there is none.
  JsonView at(const std::string& key) const;
  /// The member `key`, if it is there and not null.
  std::optional<JsonView> find(const std::string& key) const;
  /// The members by name.
  std::vector<std::pair<std::string, JsonView>> members() const;
  /// The elements of a list.
  std::vector<JsonView> list() const;
  std::string text() const;
  /// A number of a magnitude that something measured can have.
  double number() const;
  bool truth() const;
  /// Text, or a number as text: an integer as it stands there.
  std::string text_or_number() const;
  /// The member `key`, or nothing of its kind.
  std::string text_or_none(const std::string& key) const;
  std::vector<JsonView> list_or_none(const std::string& key) const;

  /// An error at this value, for checks that the caller makes.
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
