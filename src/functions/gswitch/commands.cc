// SPDX-License-Identifier: Apache-2.0
#include "functions/gswitch/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "control/routes.h"
#include "control/rules/flow_syntax.h"
#include "functions/gswitch/bundle.h"
#include "penumbra/errors.h"

namespace penumbra::gswitch {
namespace {

/// Adds actions to lines without any, because the command `del` does not require actions. Stores the line numbers
/// in `completed`.
std::string with_actions(std::string_view text, std::unordered_set<std::uint32_t>& completed) {
  std::string lines;
  std::uint32_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view words = text.substr(0, std::min(text.substr(0, end).find('#'), end));
    ++number;
    lines += words;
    const bool is_empty = words.find_first_not_of(" \t\r") == std::string_view::npos;
    if (!is_empty && words.find("action") == std::string_view::npos) {
      lines += " actions=drop";
      completed.insert(number);
    }
    lines += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// Finds flows by priority and match.
class Places {
 public:
  explicit Places(const std::vector<FlowEntry>& flows) : flows_(flows) {
    for (std::size_t i = 0; i < flows.size(); ++i) places_.emplace(rule_list::hash_of(flows[i].match), i);
  }
  /// Returns the index of the flow with this priority and match, or the number of flows if there is none.
  std::size_t find(const FlowEntry& wanted) const {
    const auto [first, last] = places_.equal_range(rule_list::hash_of(wanted.match));
    for (auto at = first; at != last; ++at) {
      const FlowEntry& flow = flows_[at->second];
      if (flow.priority == wanted.priority && flow.match == wanted.match) return at->second;
    }
    return flows_.size();
  }

 private:
  const std::vector<FlowEntry>& flows_;
  std::unordered_multimap<std::uint64_t, std::size_t> places_;
};

}  // namespace

std::vector<FunctionCommand> commands() {
  const std::string flow = "[priority=N,]FIELD=VALUE,... actions=ACTION,..., as for ovs-ofctl add-flow";
  return {
      {.name = "flow",
       .help = "Add and remove flows of a running router's switch, as `ovs-ofctl` does",
       .actions = {{"add", "Add flows that are not there yet", flow},
                   {"del", "Remove flows of this priority and match", "[priority=N,]FIELD=VALUE,..."},
                   {"replace", "Add flows, or give those that are there other actions", flow},
                   {"bundle", "Carry out all lines at once, as `ovs-ofctl --bundle add-flows` does",
                    "[add|modify|modify_strict|delete|delete_strict] [[priority=N,]FIELD=VALUE,...] [actions=...]"}},
       .topic = "gswitch"}};
}

rule_list::Edited<FlowEntry> edit(const std::vector<FlowEntry>& flows, std::string_view action,
                                  const CommandEntries& entries, std::size_t router_ports, Fields fields) {
  if (action == "bundle") return carry_out_bundle(flows, entries, router_ports, fields);
  std::unordered_set<std::uint32_t> without_actions;
  const std::string text = action == "del" ? with_actions(entries.text, without_actions) : entries.text;
  const std::vector<FlowEntry> named = parse_entries(text, entries.name, router_ports, fields);
  const Places places(flows);
  const Places named_places(named);
  rule_list::Edited<FlowEntry> edited{.entries = flows, .counts = {}};
  std::vector<bool> removed(flows.size());
  for (std::size_t i = 0; i < named.size(); ++i) {
    FlowEntry flow = named[i];
    const auto error = [&](const std::string& message) {
      return control::error_in_line(text, entries.name, static_cast<int>(flow.line), message);
    };
    if (named_places.find(flow) != i) {
      throw error(fmt::format("line {} has this priority and match already", named[named_places.find(flow)].line));
    }
    const std::size_t at = places.find(flow);
    const bool is_known = at < flows.size();
    if (action == "del") {
      if (!is_known) throw error("there is no flow of this priority and match; `flow show` lists those that there are");
      if (!without_actions.contains(flow.line) && flows[at].actions->text != flow.actions->text) {
        throw error("the flow is another one: " + text_of(flows[at]));
      }
      removed[at] = true;
      ++edited.counts.removed;
      continue;
    }
    if (is_known && action == "add") {
      throw error(fmt::format("there is a flow of this priority and match already ({}); `flow replace` changes it",
                              text_of(flows[at])));
    }
    flow.line = rule_list::kByCommand;
    if (!is_known) {
      edited.entries.push_back(std::move(flow));
      ++edited.counts.added;
    } else if (!flows[at].is_like(flow)) {
      edited.entries[at] = std::move(flow);
      ++edited.counts.changed;
    }
  }
  std::size_t at = 0;
  if (action == "del") std::erase_if(edited.entries, [&](const FlowEntry& /*flow*/) { return bool{removed[at++]}; });
  std::ranges::stable_sort(edited.entries, std::ranges::greater{}, &FlowEntry::priority);
  return edited;
}

}  // namespace penumbra::gswitch
