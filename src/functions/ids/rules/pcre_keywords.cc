// SPDX-License-Identifier: Apache-2.0
//
// `pcre`: a regular expression with options of Perl and letters that name a buffer.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "functions/ids/rules/builder.h"
#include "functions/ids/rules/expression.h"
#include "functions/ids/rules/words.h"

namespace penumbra::ids {
namespace {

struct LetterOption {
  char letter;
  std::uint32_t option;
};
constexpr std::array kOptions = std::to_array<LetterOption>({{'i', PCRE2_CASELESS},
                                                             {'m', PCRE2_MULTILINE},
                                                             {'s', PCRE2_DOTALL},
                                                             {'x', PCRE2_EXTENDED},
                                                             {'A', PCRE2_ANCHORED},
                                                             {'E', PCRE2_DOLLAR_ENDONLY},
                                                             {'G', PCRE2_UNGREEDY},
                                                             {'O', 0}});

/// Reads the letters after the expression. Returns the buffer that they name.
std::optional<Buffer> read_letters(RuleBuilder& rule, const Option& option, std::string_view letters, Pcre& pcre) {
  std::optional<Buffer> buffer;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const std::string_view letter = letters.substr(i, 1);
    if (letter == "R") {
      pcre.relative = true;
      continue;
    }
    const auto perl = std::ranges::find(kOptions, letter.front(), &LetterOption::letter);
    if (perl != kOptions.end()) {
      pcre.options |= perl->option;
      continue;
    }
    const auto named = std::ranges::find(buffers(), letter.front(), &BufferInfo::pcre);
    if (named == buffers().end()) throw rule.wrong(option, letter, "is no option of pcre");
    if (buffer) throw rule.wrong(option, letter, "names a second buffer");
    rule.require(named->application, option);
    buffer = named->buffer;
  }
  return buffer;
}

void read_pcre(RuleBuilder& rule, const Option& option) {
  const QuotedValue value = read_loosely_quoted(rule.source, option);
  const std::size_t end = value.text.rfind('/');
  if (!value.text.starts_with('/') || end == 0) throw rule.wrong(option, value.text, "is not '/EXPRESSION/OPTIONS'");
  Pcre pcre;
  pcre.negated = value.negated;
  const std::string_view pattern = value.text.substr(1, end - 1);
  // An escape of the rule language, such as '\\;', means the same byte in an expression.
  pcre.pattern = pattern;
  const auto buffer = read_letters(rule, option, value.text.substr(end + 1), pcre);
  if (!value.rest.empty()) {
    if (!value.rest.starts_with(',')) throw rule.wrong(option, value.rest, "follows the quotes");
    for (const std::string_view name : split(value.rest.substr(1), ',')) {
      if (!name.starts_with("flow:") && !name.starts_with("pkt:")) {
        throw rule.wrong(option, name, "is neither 'flow:NAME' nor 'pkt:NAME'");
      }
      pcre.captures.emplace_back(name);
    }
  }
  if (const auto fault = Expression::fault(pcre)) throw rule.wrong(option, pattern, "is no expression: " + *fault);
  if (buffer) return rule.add_to(*buffer, std::move(pcre), option.value);
  const bool relative = pcre.relative;
  rule.add(std::move(pcre), option.value, relative);
}

constexpr std::array kKeywords = std::to_array<Keyword>({{"pcre", Keyword::Value::required, read_pcre}});

}  // namespace

std::span<const Keyword> pcre_keywords() {
  return kKeywords;
}

}  // namespace penumbra::ids
