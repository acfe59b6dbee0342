// SPDX-License-Identifier: Apache-2.0
//
// The keywords that describe a rule.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "functions/ids/rules/builder.h"
#include "functions/ids/rules/words.h"

namespace penumbra::ids {
namespace {

constexpr std::uint64_t kMostNumber = std::numeric_limits<std::uint32_t>::max();

void read_message(RuleBuilder& rule, const Option& option) {
  const QuotedValue value = read_quoted(rule.source, option);
  if (value.negated || !value.rest.empty()) throw rule.wrong(option, option.value, "is no quoted text");
  rule.rule.message = unescape(value.text);
}

void read_number(RuleBuilder& rule, const Option& option, std::uint32_t& number, std::uint64_t least) {
  number = static_cast<std::uint32_t>(rule.number(option, option.value, least, kMostNumber));
}

void read_reference(RuleBuilder& rule, const Option& option) {
  const std::size_t comma = option.value.find(',');
  if (comma == std::string_view::npos) throw rule.wrong(option, option.value, "is not 'SYSTEM,ID'");
  rule.rule.references.push_back(
      {lower(trim(option.value.substr(0, comma))), unescape(trim(option.value.substr(comma + 1)))});
}

void read_metadata(RuleBuilder& rule, const Option& option) {
  for (const std::string_view entry : split(option.value, ',')) {
    if (!entry.empty()) rule.rule.metadata.emplace_back(entry);
  }
}

void read_target(RuleBuilder& rule, const Option& option) {
  if (option.value != "src_ip" && option.value != "dest_ip") {
    throw rule.wrong(option, option.value, "is neither 'src_ip' nor 'dest_ip'");
  }
  rule.rule.target = option.value;
}

using enum Keyword::Value;

constexpr std::array kKeywords = std::to_array<Keyword>({
    {"msg", required, read_message},
    {"sid", required, [](RuleBuilder& rule, const Option& option) { read_number(rule, option, rule.rule.sid, 1); }},
    {"gid", required, [](RuleBuilder& rule, const Option& option) { read_number(rule, option, rule.rule.gid, 0); }},
    {"rev", required, [](RuleBuilder& rule, const Option& option) { read_number(rule, option, rule.rule.rev, 0); }},
    {"priority", required,
     [](RuleBuilder& rule, const Option& option) { read_number(rule, option, rule.rule.priority.emplace(), 1); }},
    {"classtype", required, [](RuleBuilder& rule, const Option& option) { rule.rule.class_type = option.value; }},
    {"reference", required, read_reference},
    {"metadata", required, read_metadata},
    {"target", required, read_target},
    {"noalert", none, [](RuleBuilder& rule, const Option& /*option*/) { rule.rule.noalert = true; }},
    {"alert", none, [](RuleBuilder& rule, const Option& /*option*/) { rule.rule.noalert = false; }},
    {"prefilter", none, [](RuleBuilder& rule, const Option& /*option*/) { rule.rule.wants_prefilter = true; }},
});

}  // namespace

std::span<const Keyword> rule_keywords() {
  return kKeywords;
}

}  // namespace penumbra::ids
