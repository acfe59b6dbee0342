// SPDX-License-Identifier: Apache-2.0
//
// The text of one rule with the places of its parts, and the error that refuses a rule.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penumbra/errors.h"

namespace penumbra::ids {

/// Refuses a rule or a line of a file. `reason` groups errors of the same kind in reports.
class RuleError : public InputError {
 public:
  RuleError(SourceLocation location, std::string reason, const std::string& message)
      : InputError(std::move(location), message), reason_(std::move(reason)) {}
  const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

/// One logical line of a rule file: physical lines that end in a backslash are joined.
class RuleSource {
 public:
  RuleSource(std::string file, int line, std::string_view text);

  /// Appends the next physical line, which continues this one.
  void append(int line, std::string_view text);

  std::string_view text() const { return text_; }
  /// Returns the place of the first byte of `part`, a part of text().
  SourceLocation location(std::string_view part) const;
  /// Returns an error at `part`, a part of text(). Its message is "REASON: 'PART'HINT".
  RuleError error(std::string_view part, const std::string& reason, const std::string& hint = "") const;

 private:
  struct Piece {
    std::size_t offset;
    int line;
  };
  std::string file_;
  std::string text_;
  std::vector<Piece> pieces_;
};

/// Splits the text of a file into logical lines. Empty lines and comments are skipped.
class LineJoiner {
 public:
  /// `text` must outlive this object.
  LineJoiner(std::string file, std::string_view text) : file_(std::move(file)), rest_(text) {}

  /// Returns the next logical line, or nothing at the end.
  std::optional<RuleSource> next();
  /// Returns the number of comments so far that contain a rule: "# alert tcp ...".
  std::size_t disabled() const { return disabled_; }

 private:
  std::string_view physical_line();

  std::string file_;
  std::string_view rest_;
  int line_ = 0;
  std::size_t disabled_ = 0;
};

}  // namespace penumbra::ids
