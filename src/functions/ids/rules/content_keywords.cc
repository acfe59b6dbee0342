// SPDX-License-Identifier: Apache-2.0
//
// `content` with its modifiers, and the other keywords about the bytes of a buffer.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "functions/ids/rules/builder.h"
#include "functions/ids/rules/words.h"

namespace penumbra::ids {
namespace {

constexpr std::int64_t kMostPosition = 65535;

int hex_digit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  const char small = static_cast<char>(letter | 0x20);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/// Appends the bytes of "4F 6b", the text between two bars. Returns false if it is wrong.
bool append_hex(std::string& bytes, std::string_view text) {
  int high = -1;
  for (const char letter : text) {
    if (letter == ' ') continue;
    const int digit = hex_digit(letter);
    if (digit < 0) return false;
    if (high < 0) {
      high = digit;
    } else {
      bytes += static_cast<char>(high * 16 + digit);
      high = -1;
    }
  }
  return high < 0;
}

/// Returns the bytes of a content: text with escapes and "|HEX|" parts.
std::string content_bytes(const RuleBuilder& rule, const Option& option, std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '|') {
      const std::size_t end = text.find('|', i + 1);
      if (end == std::string_view::npos) throw rule.wrong(option, text, "has no second '|'");
      if (!append_hex(bytes, text.substr(i + 1, end - i - 1))) {
        throw rule.wrong(option, text.substr(i, end - i + 1), "has no pairs of hexadecimal digits between the bars");
      }
      i = end;
    } else if (text[i] == '\\') {
      // split_options() guarantees that a byte follows.
      const char escaped = text[++i];
      if (std::string_view("\";:\\").find(escaped) == std::string_view::npos) {
        throw rule.wrong(option, text.substr(i - 1, 2), "is no escape: '\\' precedes '\"', ';', ':' or '\\'");
      }
      bytes += escaped;
    } else {
      bytes += text[i];
    }
  }
  if (bytes.empty()) throw rule.wrong(option, option.value, "is empty");
  if (bytes.size() > 255) throw rule.wrong(option, option.value, "has more than 255 bytes");
  return bytes;
}

Content read_text(RuleBuilder& rule, const Option& option) {
  const QuotedValue value = read_quoted(rule.source, option);
  if (!value.rest.empty())
    throw rule.wrong(option, value.rest, "follows the quotes: modifiers are keywords of their own");
  Content content;
  content.bytes = content_bytes(rule, option, value.text);
  content.negated = value.negated;
  return content;
}

void read_content(RuleBuilder& rule, const Option& option) {
  rule.add(read_text(rule, option), option.value, false);
}

void read_uri_content(RuleBuilder& rule, const Option& option) {
  rule.require(Application::http, option);
  rule.add_to(Buffer::http_uri, read_text(rule, option), option.value);
}

void set_position(RuleBuilder& rule, const Option& option, std::optional<Operand>& position, std::int64_t least) {
  if (position) throw rule.source.error(option.name, "modifier is repeated");
  position = rule.operand(option, option.value, least, kMostPosition);
}

void set_flag(RuleBuilder& rule, const Option& option, bool Content::* flag) {
  bool& value = rule.last_content(option).*flag;
  if (value) throw rule.source.error(option.name, "modifier is repeated");
  value = true;
}

void read_fast_pattern(RuleBuilder& rule, const Option& option) {
  Content& content = rule.last_content(option);
  if (content.fast_pattern != Content::FastPattern::automatic) {
    throw rule.source.error(option.name, "modifier is repeated");
  }
  content.fast_pattern = Content::FastPattern::wanted;
  if (!option.has_value) return;
  if (option.value == "only") {
    content.fast_pattern = Content::FastPattern::only;
    return;
  }
  const auto parts = split(option.value, ',');
  if (parts.size() != 2) throw rule.wrong(option, option.value, "is neither 'only' nor 'OFFSET,LENGTH'");
  content.chop_offset = static_cast<std::uint16_t>(rule.number(option, parts[0], 0, 254));
  content.chop_length = static_cast<std::uint16_t>(rule.number(option, parts[1], 1, 255));
}

void read_is_data_at(RuleBuilder& rule, const Option& option) {
  const auto parts = split(option.value, ',');
  IsDataAt test;
  std::string_view position = parts[0];
  if (position.starts_with('!')) {
    test.negated = true;
    position = trim(position.substr(1));
  }
  test.position = rule.operand(option, position, 0, kMostPosition);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i] == "relative") {
      test.relative = true;
    } else if (parts[i] != "rawbytes") {
      throw rule.wrong(option, parts[i], "is neither 'relative' nor 'rawbytes'");
    }
  }
  // Suricata reads `isdataat:!1,relative` after a content as `endswith`, which differs if the content is negated.
  const bool is_end = test.negated && test.relative && test.position == Operand{1};
  const bool follows_content = !rule.tests.empty() && std::holds_alternative<Content>(rule.tests.back().test) &&
                               (!rule.sticky || rule.tests.back().buffer == *rule.sticky);
  if (is_end && follows_content) {
    std::get<Content>(rule.tests.back().test).endswith = true;
  } else {
    rule.add(test, option.value, test.relative);
  }
}

void read_buffer_size(RuleBuilder& rule, const Option& option) {
  if (!rule.sticky) throw rule.source.error(option.name, "keyword without a buffer before it");
  rule.add(BufferSize{rule.interval(option, 0xFFFFFFFF)}, option.value, false);
}

std::int32_t asn1_number(RuleBuilder& rule, const Option& option, std::string_view text) {
  return static_cast<std::int32_t>(rule.operand(option, text, -kMostPosition, kMostPosition).number);
}

void read_asn1(RuleBuilder& rule, const Option& option) {
  Asn1 test;
  for (const std::string_view part : split(option.value, ',')) {
    const auto [name, rest] = split_name(part);
    if (name == "bitstring_overflow" && rest.empty()) {
      test.bitstring_overflow = true;
    } else if (name == "double_overflow" && rest.empty()) {
      test.double_overflow = true;
    } else if (name == "oversize_length") {
      test.oversize_length = static_cast<std::uint32_t>(rule.number(option, rest, 0, 0xFFFFFFFF));
    } else if (name == "absolute_offset") {
      test.absolute_offset = asn1_number(rule, option, rest);
    } else if (name == "relative_offset") {
      test.relative_offset = asn1_number(rule, option, rest);
    } else {
      throw rule.wrong(option, part, "is no property of ASN.1");
    }
  }
  rule.add(test, option.value, test.relative_offset.has_value());
}

using enum Keyword::Value;

constexpr std::array kKeywords = std::to_array<Keyword>({
    {"content", required, read_content},
    {"uricontent", required, read_uri_content},
    {"nocase", none, [](RuleBuilder& rule, const Option& option) { set_flag(rule, option, &Content::nocase); }},
    {"startswith", none, [](RuleBuilder& rule, const Option& option) { set_flag(rule, option, &Content::startswith); }},
    {"endswith", none, [](RuleBuilder& rule, const Option& option) { set_flag(rule, option, &Content::endswith); }},
    {"offset", required,
     [](RuleBuilder& rule, const Option& option) { set_position(rule, option, rule.last_content(option).offset, 0); }},
    {"depth", required,
     [](RuleBuilder& rule, const Option& option) { set_position(rule, option, rule.last_content(option).depth, 1); }},
    {"distance", required,
     [](RuleBuilder& rule, const Option& option) {
       set_position(rule, option, rule.last_content(option).distance, -kMostPosition);
     }},
    {"within", required,
     [](RuleBuilder& rule, const Option& option) {
       set_position(rule, option, rule.last_content(option).within, -kMostPosition);
     }},
    {"fast_pattern", optional, read_fast_pattern},
    {"isdataat", required, read_is_data_at},
    {"bsize", required, read_buffer_size},
    {"asn1", required, read_asn1},
});

}  // namespace

std::span<const Keyword> content_keywords() {
  return kKeywords;
}

}  // namespace penumbra::ids
