// SPDX-License-Identifier: Apache-2.0
//
// Has the common parts of the line-based formats (routes, neighbours): lines without comments, their words, and errors
// that point to a word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penumbra/errors.h"
#include "penumbra/ip.h"

namespace penumbra::control {

/// Limits the length of a line. A longer line indicates that the file is not of this format.
inline constexpr std::size_t kMaxLineBytes = 65536;

/// Describes an attribute that `ip` prints and that Penumbra accepts and skips.
struct Attribute {
  enum class Form : std::uint8_t { flag, value, lockable };  ///< WORD, WORD VALUE, WORD [lock] VALUE.
  static constexpr Form kFlag = Form::flag, kLockable = Form::lockable;
  std::string_view word;
  Form form = Form::value;
};

/// Reads one line, without its end and comment, word by word. Spaces and tabs separate words. Continuation lines
/// (LineReader) are part of the line. number() is the number of the first line, but errors name the line of the word.
class Line {
 public:
  Line() = default;
  Line(const std::string* file, int number, std::string_view text) : file_(file), number_(number), text_(text) {}

  int number() const { return number_; }
  /// Takes and returns the next word, or an empty one at the end of the line.
  std::string_view take();
  /// Returns the next word without taking it.
  std::string_view peek() const;
  /// Takes and returns the next word. Throws an error that `expected` is missing at the end of the line.
  std::string_view require(std::string_view expected);
  /// If `word`, which was just taken, is one of `attributes`, takes its value too and returns true.
  bool skip_attribute(std::string_view word, std::span<const Attribute> attributes);
  /// Returns the remainder of the line, from the next word to the last.
  std::string_view rest() const;

  /// Returns the error "FILE:LINE:COLUMN: MESSAGE" at `word`, which must come from take(), peek() or require().
  InputError error(std::string_view word, const std::string& message) const;
  /// Returns the error that `found` is not one of `words`. The message names the nearest word or lists them.
  InputError unexpected(std::string_view found, std::string_view expected, const std::vector<std::string>& words) const;

 private:
  std::size_t skip_blanks() const;

  const std::string* file_ = nullptr;
  int number_ = 0;
  std::string_view text_;
  std::size_t at_ = 0;
};

/// Iterates over the lines of a text that contain words. `text` and `name` must outlive the reader and its lines.
class LineReader {
 public:
  /// A line whose first word is `continuation` continues the line before it. If `continuation` is empty, no line does.
  /// Throws InputError at the first NUL byte, because the file is not text.
  LineReader(std::string_view text, const std::string& name, std::string_view continuation = {});
  /// Reads the next line and returns true, or returns false at the end of the text. Throws InputError for a line over
  /// kMaxLineBytes.
  bool next(Line& line);

 private:
  std::string_view take_line();
  bool goes_on() const;

  const std::string& name_;
  std::string_view continuation_;
  std::string_view rest_;
  int number_ = 0;
};

/// Throws an error if `word`, or the `address` in it, belongs to the other address family.
template <class Family>
void require_family(const Line& line, std::string_view word, std::string_view address, std::string_view what);
/// Parses a unicast address of another machine. Throws an error for other text, for the other family and for addresses
/// that no neighbour can have (Address::is_unicast).
template <class Family>
typename Family::Address parse_neighbour_address(const Line& line, std::string_view word);
/// Returns `word` if it is one of `ports`, or if `ports` is empty. Throws an error otherwise.
std::string_view parse_port(const Line& line, std::string_view word, const std::vector<std::string>& ports);

}  // namespace penumbra::control
