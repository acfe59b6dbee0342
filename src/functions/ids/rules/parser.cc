// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/rules/parser.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "functions/ids/rules/builder.h"
#include "functions/ids/rules/option.h"
#include "functions/ids/rules/words.h"

namespace penumbra::ids {
namespace {

struct NamedAction {
  std::string_view name;
  Action action;
};
constexpr std::array kActions = std::to_array<NamedAction>({{"alert", Action::alert},
                                                            {"pass", Action::pass},
                                                            {"drop", Action::drop},
                                                            {"reject", Action::reject},
                                                            {"rejectsrc", Action::reject_source},
                                                            {"rejectdst", Action::reject_destination},
                                                            {"rejectboth", Action::reject_both}});

/// The words of a rule's header.
class HeaderWords {
 public:
  HeaderWords(const RuleSource& source, std::string_view text) : source_(source), rest_(text) {}

  /// Returns the next word. A list in brackets is one word, also with blanks.
  std::string_view next(const char* what) {
    rest_ = trim_left(rest_);
    std::size_t size = 0;
    int open = 0;
    for (; size < rest_.size(); ++size) {
      const char letter = rest_[size];
      if (letter == '[') ++open;
      if (letter == ']') --open;
      if (open <= 0 && (letter == ' ' || letter == '\t')) break;
    }
    const std::string_view word = rest_.substr(0, size);
    if (word.empty()) throw source_.error(rest_, "rule has no " + std::string(what));
    rest_.remove_prefix(size);
    return word;
  }
  std::string_view rest() const { return trim(rest_); }

 private:
  const RuleSource& source_;
  std::string_view rest_;
};

Action read_action(const RuleSource& source, std::string_view word) {
  const auto found = std::ranges::find(kActions, word, &NamedAction::name);
  if (found != kActions.end()) return found->action;
  throw source.error(word, "unknown action", "; there are alert, pass, drop, reject, rejectsrc, rejectdst, rejectboth");
}

Protocol read_protocol(const RuleSource& source, std::string_view word) {
  const std::string name = lower(word);
  if (const auto protocol = find_protocol(name)) return *protocol;
  if (is_unsupported_protocol(name)) throw source.error(word, "protocol is not supported yet");
  const std::string hint = did_you_mean(name, protocol_names());
  throw source.error(word, "unknown protocol", hint.empty() ? "" : ": " + hint);
}

bool read_direction(const RuleSource& source, std::string_view word) {
  if (word == "->") return false;
  if (word == "<>") return true;
  throw source.error(word, "unknown direction", "; there are '->' and '<>'");
}

/// Splits "HEADER (OPTIONS)".
struct Parts {
  std::string_view header, options;
};
Parts split_rule(const RuleSource& source) {
  const std::string_view text = trim(source.text());
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos) throw source.error(text, "rule has no options in parentheses");
  if (text.back() != ')') throw source.error(text.substr(text.size() - 1), "rule does not end in ')'");
  return {text.substr(0, open), text.substr(open + 1, text.size() - open - 2)};
}

}  // namespace

Rule parse_rule(const RuleSource& source, HeaderSets& sets) {
  const Parts parts = split_rule(source);
  HeaderWords words(source, parts.header);
  Rule rule;
  const std::string_view action = words.next("action");
  rule.place = source.location(action);
  rule.action = read_action(source, action);
  rule.protocol = read_protocol(source, words.next("protocol"));
  rule.application = rule.protocol.application;
  rule.sources = sets.addresses(source, words.next("source addresses"));
  rule.source_ports = sets.ports(source, words.next("source ports"));
  rule.bidirectional = read_direction(source, words.next("direction"));
  rule.destinations = sets.addresses(source, words.next("destination addresses"));
  rule.destination_ports = sets.ports(source, words.next("destination ports"));
  if (!words.rest().empty()) throw source.error(words.rest(), "header has a word too many");

  RuleBuilder builder(source, rule);
  for (const Option& option : split_options(source, parts.options)) read_option(builder, option);
  builder.finish();
  if (rule.sid == 0) throw source.error(action, "rule has no sid", "");
  return rule;
}

std::optional<std::uint32_t> find_sid(const RuleSource& source) {
  const std::string_view text = source.text();
  for (std::size_t at = text.find("sid"); at != std::string_view::npos; at = text.find("sid", at + 1)) {
    if (at == 0 || std::string_view(" \t;(").find(text[at - 1]) == std::string_view::npos) continue;
    const std::string_view rest = trim_left(text.substr(at + 3));
    if (!rest.starts_with(':')) continue;
    const auto sid = parse_unsigned(trim(rest.substr(1, rest.find(';') - 1)));
    if (sid && *sid <= 0xFFFFFFFF) return static_cast<std::uint32_t>(*sid);
  }
  return std::nullopt;
}

}  // namespace penumbra::ids
