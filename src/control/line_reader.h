// SPDX-License-Identifier: Apache-2.0
//
// What the line-based files (routes, neighbours) have in common: lines without comments, their words, and errors that
// point to a word.
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

/// A longer line is no route but a mistake (a file of something else).
inline constexpr std::size_t kMaxLineBytes = 65536;

/// What `ip` prints that means nothing here, and is taken and skipped.
struct Attribute {
  enum class Form : std::uint8_t { flag, value, lockable };  ///< WORD, WORD VALUE, WORD [lock] VALUE
  static constexpr Form kFlag = Form::flag, kLockable = Form::lockable;
  std::string_view word;
  Form form = Form::value;
};

/// One line without its end and its comment, taken word by word. Words are separated by spaces and tabs. Lines that go
/// on with it (LineReader) count as part of it; number() is then the first one's, and errors name the word's own.
class Line {
 public:
  Line() = default;
  Line(const std::string* file, int number, std::string_view text) : file_(file), number_(number), text_(text) {}

  int number() const { return number_; }
  /// The next word, or an empty one at the end of the line.
  std::string_view take();
  /// The next word, left where it is.
  std::string_view peek() const;
  /// The next word; an error that says that `expected` is missing at the end of the line.
  std::string_view require(std::string_view expected);
  /// Takes the value, too, if `word`, just taken, is one of the attributes. Whether it is.
  bool skip_attribute(std::string_view word, std::span<const Attribute> attributes);
  /// What is left of the line, from the next word to the last.
  std::string_view rest() const;

  /// "FILE:LINE:COLUMN: MESSAGE" at `word`, which take(), peek() or require() gave.
  InputError error(std::string_view word, const std::string& message) const;
  /// `found` is not one of `words`: names them or the nearest.
  InputError unexpected(std::string_view found, std::string_view expected, const std::vector<std::string>& words) const;

 private:
  std::size_t skip_blanks() const;

  const std::string* file_ = nullptr;
  int number_ = 0;
  std::string_view text_;
  std::size_t at_ = 0;
};

/// The lines of a text that have words in them. `text` and `name` must outlive the reader and its lines.
class LineReader {
 public:
  /// A line whose first word is `continuation` goes on with the line before it; none does if that is empty. Throws
  /// InputError at the first NUL byte: the file is not text.
  LineReader(std::string_view text, const std::string& name, std::string_view continuation = {});
  /// Goes on to the next line; false at the end of the text. Throws InputError for a line over kMaxLineBytes.
  bool next(Line& line);

 private:
  std::string_view take_line();
  bool goes_on() const;

  const std::string& name_;
  std::string_view continuation_;
  std::string_view rest_;
  int number_ = 0;
};

/// An error if `word`, or the `address` in it, is of the other family than the one that is expected here.
template <class Family>
void require_family(const Line& line, std::string_view word, std::string_view address, std::string_view what);
/// A unicast address of another machine: an error for anything else, the other family and the addresses that no
/// neighbour can have (Address::is_unicast) included.
template <class Family>
typename Family::Address parse_neighbour_address(const Line& line, std::string_view word);
/// A port's name that is in `ports`, or any if that is empty.
std::string_view parse_port(const Line& line, std::string_view word, const std::vector<std::string>& ports);

}  // namespace penumbra::control
