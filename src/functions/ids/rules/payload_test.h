// SPDX-License-Identifier: Apache-2.0
//
// The tests of a rule on the bytes of a buffer: contents, expressions and numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "functions/ids/rules/buffer.h"
#include "functions/ids/rules/interval.h"

namespace penumbra::ids {

/// A number of the rule, or the number that byte_extract or byte_math stored in `variable`.
struct Operand {
  static constexpr int kNoVariable = -1;
  std::int64_t number = 0;
  int variable = kNoVariable;  ///< Index into Rule::variables.

  bool is_variable() const { return variable != kNoVariable; }
  bool operator==(const Operand&) const = default;
};

/// `content` with its modifiers. A content is absolute (offset, depth) or relative to the end of the last match
/// (distance, within).
struct Content {
  enum class FastPattern : std::uint8_t { automatic, wanted, only };

  std::string bytes;
  bool nocase = false;
  bool negated = false;
  bool startswith = false;
  bool endswith = false;
  std::optional<Operand> offset, depth;
  std::optional<Operand> distance, within;
  FastPattern fast_pattern = FastPattern::automatic;
  std::uint16_t chop_offset = 0;  ///< The part of `bytes` that the prefilter takes; `chop_length` 0 takes all.
  std::uint16_t chop_length = 0;

  bool is_relative() const { return distance.has_value() || within.has_value(); }
};

struct Pcre {
  std::string pattern;
  std::uint32_t options = 0;  ///< Of pcre2_compile().
  bool negated = false;
  bool relative = false;
  /// Variables that the captures 1, 2, ... set, by name: "flow:NAME" or "pkt:NAME".
  std::vector<std::string> captures;
};

/// A number that is read from a buffer.
struct NumberField {
  enum class Base : std::uint8_t { automatic, decimal, hexadecimal, octal };

  Operand bytes;   ///< 1 to 8 bytes of a binary number, 1 to 23 of a text.
  Operand offset;  ///< From the buffer's start, or from the last match if `relative`.
  bool relative = false;
  bool little_endian = false;
  bool dce = false;  ///< The byte order is that of the DCE/RPC header.
  bool is_text = false;
  Base base = Base::automatic;
  std::uint64_t bitmask = 0;  ///< 0: none. A masked number is shifted right by the mask's trailing zeros.
};

struct ByteTest {
  enum class Operator : std::uint8_t { equal, less, less_or_equal, greater, greater_or_equal, bit_and, bit_or };
  NumberField field;
  Operator comparison = Operator::equal;
  bool negated = false;
  Operand value;
};

struct ByteJump {
  enum class From : std::uint8_t { field, beginning, end };
  NumberField field;
  From from = From::field;
  bool align = false;  ///< Rounds up to a multiple of four bytes.
  std::uint32_t multiplier = 1;
  Operand post_offset;
};

struct ByteExtract {
  enum class Alignment : std::uint8_t { none = 1, two = 2, four = 4 };
  NumberField field;
  int variable = 0;
  std::uint32_t multiplier = 1;
  Alignment alignment = Alignment::none;
};

struct ByteMath {
  enum class Operator : std::uint8_t { add, subtract, multiply, divide, shift_left, shift_right };
  NumberField field;
  Operator operation = Operator::add;
  Operand value;
  int variable = 0;
};

/// `isdataat`: there is a byte at `position`.
struct IsDataAt {
  Operand position;
  bool negated = false;
  bool relative = false;
};

/// `bsize` and `urilen`: the length of the whole buffer.
struct BufferSize {
  Interval length;
};

/// `asn1`: properties of BER elements. An absent length or offset is not tested.
struct Asn1 {
  bool bitstring_overflow = false;
  bool double_overflow = false;
  std::optional<std::uint32_t> oversize_length;
  std::optional<std::int32_t> absolute_offset, relative_offset;
};

using PayloadTest = std::variant<Content, Pcre, ByteTest, ByteJump, ByteExtract, ByteMath, IsDataAt, BufferSize, Asn1>;

/// All tests of a rule on one buffer, in the rule's order.
struct BufferTests {
  Buffer buffer = Buffer::payload;
  std::vector<PayloadTest> tests;
};

}  // namespace penumbra::ids
