// SPDX-License-Identifier: Apache-2.0
//
// Splits text in the syntax of `ip xfrm` into records of words.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "control/line_reader.h"
#include "control/xfrm/model.h"

namespace penumbra::control::xfrm {

/// Reads the words of one SA or policy: one command, or several lines that `ip xfrm` printed. Errors name line, column
/// and what was expected, but never quote what may be a key.
class Record {
 public:
  bool empty() const { return words_.empty(); }
  bool at_end() const { return at_ == words_.size(); }
  /// Returns the next word without taking it; empty at the end.
  std::string_view peek() const { return at_end() ? std::string_view{} : words_[at_].text; }
  /// Takes the next word. Throws an error at the end.
  std::string_view take(std::string_view expected);
  /// Puts the word that was taken last back.
  void back() { --at_; }
  /// Takes the next word if it is `word`.
  bool take_if(std::string_view word);
  /// Returns an error at the word that was taken last.
  InputError error(const std::string& message) const;
  /// Returns the error that the word taken last is not one of `words`.
  InputError unexpected(std::string_view expected, const std::vector<std::string>& words) const;

  /// Takes a number, decimal or hexadecimal with 0x. Throws an error over `most`.
  std::uint64_t number(std::string_view what, std::uint64_t most = std::numeric_limits<std::uint32_t>::max());
  /// Takes a hexadecimal number of up to 8 digits without 0x.
  std::uint32_t hexadecimal();
  /// Takes an address. `family` is set if it is 0, and must match otherwise.
  Address address(std::uint16_t& family);
  /// Takes ADDRESS, ADDRESS/LENGTH, `any` or `default`.
  Address prefix(std::uint16_t& family, std::uint8_t& length);
  /// Takes the name of an algorithm. The error does not quote a key in its place.
  std::string_view algorithm();
  /// Takes a key in hexadecimal into `key` and returns its bits. A name that is not followed by a key has none.
  std::uint32_t key(std::span<std::uint8_t> key);
  /// Takes VALUE or VALUE/MASK, or VALUE with `mask MASK` after it.
  Mark mark();

 private:
  friend class RecordReader;
  struct Word {
    std::string_view text;
    const Line* line;
  };

  std::deque<Line> lines_;
  std::vector<Word> words_;
  std::size_t at_ = 0;
};

/// Iterates over the records of a text. `text` and `name` must outlive the reader and its records.
class RecordReader {
 public:
  /// `object` is "state" or "policy".
  RecordReader(std::string_view text, const std::string& name, std::string_view object)
      : reader_(text, name), object_(object) {}
  /// Reads the next record and returns true, or returns false at the end of the text. Throws InputError.
  bool next(Record& record);

 private:
  bool fetch();
  void append(Record& record);

  LineReader reader_;
  std::string_view object_;
  Line pending_;
  bool has_pending_ = false;
};

/// Refuses a word that stands twice in a record, because only one of its values could count.
class OnceWords {
 public:
  /// `word` was taken. Throws an error at it the second time.
  void add(const Record& record, std::string_view word);

 private:
  std::set<std::string_view> words_;
};

/// Parses the value of `proto`: a name or a number.
std::uint8_t parse_protocol(Record& record);
std::string protocol_name(std::uint8_t protocol);
/// Parses `mode`.
Mode parse_mode(Record& record);
std::string_view mode_name(Mode mode);
/// Takes a word of a selector into `selector` and returns true, or returns false for another word. `word` was taken.
bool parse_selector_word(Record& record, std::string_view word, Selector& selector);
/// Takes what follows `limit`, `limit:` or `expire` into `limits`. `word` was taken.
bool parse_limit_word(Record& record, std::string_view word, Limits& limits);

}  // namespace penumbra::control::xfrm
