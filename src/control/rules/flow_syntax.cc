// SPDX-License-Identifier: Apache-2.0
#include "control/rules/flow_syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <unordered_map>

#include "control/rules/flow_match.h"
#include "control/rules/number.h"
#include "control/rules/openflow10.h"

namespace penumbra::control::rules {
namespace {

// Words of a dump about a flow's history and expiry, which do not affect matching (ovs-ofctl(8), "Flow Syntax" and
// "Table Entry Output").
constexpr std::array<std::string_view, 9> kPassedOver{
    "cookie", "duration", "n_packets", "n_bytes", "idle_age", "hard_age", "idle_timeout", "hard_timeout", "importance"};
constexpr std::array<std::string_view, 5> kFlags{"send_flow_rem", "check_overlap", "reset_counts", "no_packet_counts",
                                                 "no_byte_counts"};

std::vector<std::string> words_of_a_flow() {
  std::vector<std::string> names = flow_field_names();
  for (const char* word : {"priority", "table", "actions"}) names.emplace_back(word);
  names.insert(names.end(), kPassedOver.begin(), kPassedOver.end());
  names.insert(names.end(), kFlags.begin(), kFlags.end());
  return names;
}

/// Returns the rest of a line without a comment.
std::string_view content(const Line& line) {
  const std::string_view rest = line.rest();
  return rest.substr(0, rest.find('#'));
}

class FlowParser {
 public:
  FlowList parse(std::string_view text, const std::string& name);

 private:
  void parse_flow(const Line& line);
  bool skip(const Line& line, const FlowWord& word) const;
  std::uint32_t actions_of(const Line& line, std::string_view text);

  FlowList flows_;
  std::unordered_map<std::string_view, std::uint32_t> known_texts_;  ///< Keyed by the text in the file.
  std::unordered_map<std::string, std::uint32_t> known_actions_;     ///< Keyed by to_string().
};

FlowList FlowParser::parse(std::string_view text, const std::string& name) {
  LineReader reader(text, name);
  for (Line line; reader.next(line);) {
    const std::string_view first = line.peek();
    if (first == "NXST_FLOW" || first == "OFPST_FLOW") continue;  // The first line of a dump.
    if (flows_.flows.size() == kMostRules) {
      throw line.error(first, fmt::format("there are over {} flows", kMostRules));
    }
    parse_flow(line);
  }
  return std::move(flows_);
}

void FlowParser::parse_flow(const Line& line) {
  std::string_view rest = content(line);
  FlowMatchReader match(line, FlowMatchReader::What::rule);
  std::uint16_t priority = kDefaultFlowPriority;
  std::string_view priority_word;
  for (FlowWord word = take_flow_word(rest); !word.whole.empty(); word = take_flow_word(rest)) {
    if (word.key == "actions" || word.key == "action") {
      if (!word.has_value) require_value(line, word);
      flows_.flows.push_back({.match = match.finish(),
                              .priority = priority,
                              .line = static_cast<std::uint32_t>(line.number()),
                              .actions = actions_of(line, std::string_view(word.value.begin(), rest.end()))});
      return;
    }
    if (word.key == "priority") {
      if (!priority_word.empty()) throw line.error(word.whole, "'priority' is given twice");
      priority_word = require_value(line, word);
      const auto number = parse_number(priority_word, 0xFFFF);
      if (!number) {
        throw line.error(priority_word,
                         fmt::format("expected a priority from 0 to 65535, found {}", quote(priority_word)));
      }
      priority = static_cast<std::uint16_t>(*number);
    } else if (!match.take(word) && !skip(line, word)) {
      throw line.unexpected(word.key, "a field of flows", words_of_a_flow());
    }
  }
  throw line.error(rest, "the flow has no 'actions='");
}

/// Returns true if the word has no effect on matching.
bool FlowParser::skip(const Line& line, const FlowWord& word) const {
  if (!word.has_value) return std::ranges::find(kFlags, word.key) != kFlags.end();
  if (word.key == "table") {
    if (require_value(line, word) == "0") return true;
    throw line.error(word.whole,
                     fmt::format("{}: there is one table, number 0; print that one alone", quote(word.whole)));
  }
  if (std::ranges::find(kPassedOver, word.key) == kPassedOver.end()) return false;
  require_value(line, word);
  return true;
}

std::uint32_t FlowParser::actions_of(const Line& line, std::string_view text) {
  if (const auto known = known_texts_.find(text); known != known_texts_.end()) return known->second;
  FlowActions actions = parse_flow_actions(line, text);
  const auto next = static_cast<std::uint32_t>(flows_.action_lists.size());
  const auto [entry, added] = known_actions_.emplace(to_string(actions), next);
  if (added) flows_.action_lists.push_back(std::move(actions));
  known_texts_.emplace(text, entry->second);
  return entry->second;
}

}  // namespace

FlowList parse_flows(std::string_view text, const std::string& name) {
  return FlowParser().parse(text, name);
}

RuleList parse_flow_rules(std::string_view text, const std::string& name) {
  const FlowList list = parse_flows(text, name);
  RuleList rules{.fields = RuleFields::openflow, .rules = {}, .lines = {}};
  rules.rules.reserve(list.flows.size());
  rules.lines.reserve(list.flows.size());
  for (const Flow& flow : list.flows) {
    const auto match = openflow10(flow.match);
    if (!match) {
      throw InputError({.file = name, .line = static_cast<int>(flow.line)},
                       "the flow matches fields that OpenFlow 1.0 does not have, which only gswitch can search");
    }
    rules.rules.push_back({.match = *match, .priority = flow.priority});
    rules.lines.push_back(flow.line);
  }
  return rules;
}

void write_flows(std::ostream& out, const FlowList& flows) {
  std::vector<std::string> actions;
  actions.reserve(flows.action_lists.size());
  for (const auto& list : flows.action_lists) actions.push_back("actions=" + to_string(list) + "\n");
  for (const Flow& flow : flows.flows) {
    std::string text = flow.priority == kDefaultFlowPriority ? "" : fmt::format("priority={}", flow.priority);
    const std::string match = flow_match_text(flow.match);
    text += (text.empty() || match.empty() ? "" : ",") + match;
    out << text << (text.empty() ? "" : " ") << actions[flow.actions];
  }
}

RuleWords parse_flow_key(Line& line) {
  std::string_view rest = content(line);
  if (line.peek().empty()) throw line.error(rest, "expected the fields of a header, found the end of the line");
  FlowMatchReader header(line, FlowMatchReader::What::header);
  for (FlowWord word = take_flow_word(rest); !word.whole.empty(); word = take_flow_word(rest)) {
    if (!header.take(word)) throw line.unexpected(word.key, "a field of a header", flow_field_names());
  }
  const auto match = openflow10(header.finish());
  if (!match) throw line.error(line.peek(), "the header has fields that OpenFlow 1.0 does not have");
  RuleWords key = match->value;
  if (openflow::kVlan.get(match->mask) == 0) openflow::kVlan.set(key, openflow::kNoVlan);
  return key;
}

}  // namespace penumbra::control::rules
