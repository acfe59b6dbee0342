// SPDX-License-Identifier: Apache-2.0
//
// byte_test, byte_jump, byte_extract and byte_math: numbers that are read from a buffer.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "functions/ids/rules/builder.h"
#include "functions/ids/rules/words.h"

namespace penumbra::ids {
namespace {

constexpr std::int64_t kMostOffset = 0x7FFFFFFF;
constexpr std::int64_t kMostBinary = 8;  ///< Bytes of a binary number.
constexpr std::int64_t kMostText = 23;   ///< Bytes of a number in text.

std::optional<NumberField::Base> base_of(std::string_view word) {
  if (word == "dec") return NumberField::Base::decimal;
  if (word == "hex") return NumberField::Base::hexadecimal;
  if (word == "oct") return NumberField::Base::octal;
  return std::nullopt;
}

/// Reads a word that all four keywords take. Returns false for another word.
bool read_common(RuleBuilder& rule, const Option& option, std::string_view word, NumberField& field) {
  const auto [name, value] = split_name(word);
  if (word == "relative") {
    field.relative = true;
  } else if (word == "little") {
    field.little_endian = true;
  } else if (word == "dce") {
    field.dce = true;
  } else if (word == "string") {
    field.is_text = true;
  } else if (const auto base = base_of(word)) {
    field.base = *base;
  } else if (name == "bitmask") {
    const auto mask = parse_unsigned(value.starts_with("0x") ? value : "0x" + std::string(value));
    if (!mask || *mask == 0 || *mask > 0xFFFFFFFF) throw rule.wrong(option, word, "is no mask of 1 to 4 bytes");
    field.bitmask = *mask;
  } else {
    return word == "big";
  }
  return true;
}

void check_field(const RuleBuilder& rule, const Option& option, const NumberField& field, std::int64_t least_bytes) {
  const std::int64_t most = field.is_text ? kMostText : kMostBinary;
  if (!field.bytes.is_variable() && (field.bytes.number < least_bytes || field.bytes.number > most)) {
    throw rule.wrong(option, option.value, "reads a number of more or less bytes than 1 to " + std::to_string(most));
  }
  if (field.is_text && (field.little_endian || field.dce)) {
    throw rule.wrong(option, option.value, "has a text and a byte order");
  }
}

std::vector<std::string_view> words_of(RuleBuilder& rule, const Option& option, std::size_t least) {
  auto words = split(option.value, ',');
  if (words.size() < least) {
    throw rule.wrong(option, option.value, "has fewer than " + std::to_string(least) + " words between commas");
  }
  return words;
}

void read_operator(RuleBuilder& rule, const Option& option, std::string_view text, ByteTest& test) {
  using enum ByteTest::Operator;
  struct Named {
    std::string_view sign;
    ByteTest::Operator comparison;
  };
  constexpr std::array kOperators = std::to_array<Named>({{"=", equal},
                                                          {"<", less},
                                                          {"<=", less_or_equal},
                                                          {">", greater},
                                                          {">=", greater_or_equal},
                                                          {"&", bit_and},
                                                          {"^", bit_or}});
  std::string_view sign = text;
  if (sign.starts_with('!')) {
    test.negated = true;
    sign = trim(sign.substr(1));
    if (sign.empty()) sign = "=";
  }
  for (const Named& named : kOperators) {
    if (named.sign != sign) continue;
    test.comparison = named.comparison;
    return;
  }
  throw rule.wrong(option, text, "is no operator");
}

void read_byte_test(RuleBuilder& rule, const Option& option) {
  const auto words = words_of(rule, option, 4);
  ByteTest test;
  test.field.bytes = rule.operand(option, words[0], 1, kMostText);
  read_operator(rule, option, words[1], test);
  test.value = rule.operand(option, words[2], 0, 0xFFFFFFFF);
  test.field.offset = rule.operand(option, words[3], -kMostOffset, kMostOffset);
  for (std::size_t i = 4; i < words.size(); ++i) {
    if (!read_common(rule, option, words[i], test.field)) throw rule.wrong(option, words[i], "is unknown here");
  }
  check_field(rule, option, test.field, 1);
  rule.add(test, option.value, test.field.relative);
}

void read_jump_word(RuleBuilder& rule, const Option& option, std::string_view word, ByteJump& jump) {
  const auto [name, value] = split_name(word);
  if (word == "align") {
    jump.align = true;
  } else if (word == "from_beginning") {
    jump.from = ByteJump::From::beginning;
  } else if (word == "from_end") {
    jump.from = ByteJump::From::end;
  } else if (name == "multiplier") {
    jump.multiplier = static_cast<std::uint32_t>(rule.number(option, value, 1, 0xFFFF));
  } else if (name == "post_offset") {
    jump.post_offset = rule.operand(option, value, -kMostOffset, kMostOffset);
  } else if (!read_common(rule, option, word, jump.field)) {
    throw rule.wrong(option, word, "is unknown here");
  }
}

void read_byte_jump(RuleBuilder& rule, const Option& option) {
  const auto words = words_of(rule, option, 2);
  ByteJump jump;
  jump.field.bytes = rule.operand(option, words[0], 0, kMostText);
  jump.field.offset = rule.operand(option, words[1], -kMostOffset, kMostOffset);
  for (std::size_t i = 2; i < words.size(); ++i) read_jump_word(rule, option, words[i], jump);
  check_field(rule, option, jump.field, 0);
  rule.add(jump, option.value, jump.field.relative);
}

void read_byte_extract(RuleBuilder& rule, const Option& option) {
  const auto words = words_of(rule, option, 3);
  ByteExtract extract;
  extract.field.bytes = rule.operand(option, words[0], 1, kMostText);
  extract.field.offset = rule.operand(option, words[1], -kMostOffset, kMostOffset);
  for (std::size_t i = 3; i < words.size(); ++i) {
    const auto [name, value] = split_name(words[i]);
    if (name == "multiplier") {
      extract.multiplier = static_cast<std::uint32_t>(rule.number(option, value, 1, 0xFFFF));
    } else if (name == "align") {
      if (value != "2" && value != "4") throw rule.wrong(option, words[i], "is neither 'align 2' nor 'align 4'");
      extract.alignment = value == "2" ? ByteExtract::Alignment::two : ByteExtract::Alignment::four;
    } else if (!read_common(rule, option, words[i], extract.field)) {
      throw rule.wrong(option, words[i], "is unknown here");
    }
  }
  check_field(rule, option, extract.field, 1);
  extract.variable = rule.store_variable(option, words[2]);
  rule.add(extract, option.value, extract.field.relative);
}

std::optional<ByteMath::Operator> math_operator(std::string_view sign) {
  using enum ByteMath::Operator;
  if (sign == "+") return add;
  if (sign == "-") return subtract;
  if (sign == "*") return multiply;
  if (sign == "/") return divide;
  if (sign == "<<") return shift_left;
  if (sign == ">>") return shift_right;
  return std::nullopt;
}

void read_byte_math(RuleBuilder& rule, const Option& option) {
  ByteMath math;
  std::string_view result;
  unsigned found = 0;  // A bit for each word that must be there.
  for (const std::string_view word : words_of(rule, option, 5)) {
    const auto [name, value] = split_name(word);
    if (name == "bytes") {
      math.field.bytes = rule.operand(option, value, 1, 10);
      found |= 1;
    } else if (name == "offset") {
      math.field.offset = rule.operand(option, value, -kMostOffset, kMostOffset);
      found |= 2;
    } else if (name == "oper") {
      const auto sign = math_operator(value);
      if (!sign) throw rule.wrong(option, value, "is no operator");
      math.operation = *sign;
      found |= 4;
    } else if (name == "rvalue") {
      math.value = rule.operand(option, value, 0, 0xFFFFFFFF);
      found |= 8;
    } else if (name == "result") {
      result = value;
      found |= 16;
    } else if (name == "endian" && (value == "big" || value == "little")) {
      math.field.little_endian = value == "little";
    } else if (name == "string" && (value.empty() || base_of(value))) {
      math.field.is_text = true;
      math.field.base = base_of(value).value_or(NumberField::Base::automatic);
    } else if (!read_common(rule, option, word, math.field)) {
      throw rule.wrong(option, word, "is unknown here");
    }
  }
  if (found != 31) throw rule.wrong(option, option.value, "needs bytes, offset, oper, rvalue and result");
  if (math.operation == ByteMath::Operator::divide && !math.value.is_variable() && math.value.number == 0) {
    throw rule.wrong(option, option.value, "divides by 0");
  }
  check_field(rule, option, math.field, 1);
  math.variable = rule.store_variable(option, result);
  rule.add(math, option.value, math.field.relative);
}

using enum Keyword::Value;

constexpr std::array kKeywords = std::to_array<Keyword>({
    {"byte_test", required, read_byte_test},
    {"byte_jump", required, read_byte_jump},
    {"byte_extract", required, read_byte_extract},
    {"byte_math", required, read_byte_math},
});

}  // namespace

std::span<const Keyword> number_keywords() {
  return kKeywords;
}

}  // namespace penumbra::ids
