// SPDX-License-Identifier: Apache-2.0
#include "functions/gswitch/bundle.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace penumbra::gswitch {
namespace {

/// Describes the word that begins a line.
struct Verb {
  std::string_view word;
  bool is_strict;    ///< concerns the flow of this priority and match; otherwise all flows of at least this match
  bool has_actions;  ///< `actions=` follows the match
  bool removes;
  bool adds;
};
constexpr std::array<Verb, 5> kVerbs{{
    {.word = "add", .is_strict = true, .has_actions = true, .removes = false, .adds = true},
    {.word = "modify", .is_strict = false, .has_actions = true, .removes = false, .adds = false},
    {.word = "modify_strict", .is_strict = true, .has_actions = true, .removes = false, .adds = false},
    {.word = "delete", .is_strict = false, .has_actions = false, .removes = true, .adds = false},
    {.word = "delete_strict", .is_strict = true, .has_actions = false, .removes = true, .adds = false},
}};

/// Returns the verb of a line and its place in the line.
std::pair<const Verb*, std::size_t> verb_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t begin = std::min(line.find_first_not_of(kBlanks), line.size());
  const std::string_view rest = line.substr(begin);
  const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r,#"));
  const auto* const found = std::ranges::find(kVerbs, word, &Verb::word);
  return {found == kVerbs.end() ? nullptr : found, begin};
}

/// Replaces verbs by blanks, so that errors name the right columns, and adds actions to lines that need none. Stores
/// the verbs by line, from 1.
std::string without_verbs(std::string_view text, std::vector<const Verb*>& verbs) {
  std::string lines;
  verbs.assign(1, kVerbs.data());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, std::min(text.substr(0, end).find('#'), end)));
    const auto [verb, at] = verb_of(line);
    verbs.push_back(verb == nullptr ? kVerbs.data() : verb);
    if (verb != nullptr) line.replace(at, verb->word.size(), verb->word.size(), ' ');
    if (!verbs.back()->has_actions && line.find("action") == std::string::npos) line += " actions=drop";
    lines += line;
    lines += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// Returns true if every packet of `flow` also has `match`.
bool is_at_least(const SparseMatch& flow, const SparseMatch& match) {
  for (std::size_t word = 0; word < kSparseWords; ++word) {
    if ((match.mask[word] & ~flow.mask[word]) != 0) return false;
    if (((flow.value[word] ^ match.value[word]) & match.mask[word]) != 0) return false;
  }
  return true;
}

/// The table while a bundle is carried out.
class BundledTable {
 public:
  explicit BundledTable(const std::vector<FlowEntry>& flows) : before_(flows) {
    for (const FlowEntry& flow : flows) append(flow);
  }

  void carry_out(const Verb& verb, FlowEntry line) {
    line.line = rule_list::kByCommand;
    if (!verb.is_strict) {
      for (Row& row : rows_) {
        if (row.is_there && is_at_least(row.flow.match, line.match)) change(row, verb, line);
      }
      return;
    }
    bool is_known = false;
    const auto [first, last] = places_.equal_range(rule_list::hash_of(line.match));
    for (auto at = first; at != last; ++at) {
      Row& row = rows_[at->second];
      if (row.flow.priority != line.priority || row.flow.match != line.match) continue;
      is_known = true;
      row.is_there = row.is_there || verb.adds;
      if (row.is_there) change(row, verb, line);
    }
    if (!is_known && verb.adds) append(line);
  }

  rule_list::Edited<FlowEntry> result() const {
    rule_list::Edited<FlowEntry> edited;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      if (i >= before_.size()) {
        edited.counts.added += row.is_there ? 1 : 0;
      } else if (!row.is_there) {
        ++edited.counts.removed;
      } else if (!row.flow.is_like(before_[i])) {
        ++edited.counts.changed;
      }
      if (row.is_there) edited.entries.push_back(row.flow);
    }
    std::ranges::stable_sort(edited.entries, std::ranges::greater{}, &FlowEntry::priority);
    return edited;
  }

 private:
  struct Row {
    FlowEntry flow;
    bool is_there = true;  ///< a removed flow that comes back takes its old place
  };

  void append(const FlowEntry& flow) {
    places_.emplace(rule_list::hash_of(flow.match), rows_.size());
    rows_.push_back({.flow = flow});
  }
  static void change(Row& row, const Verb& verb, const FlowEntry& line) {
    if (verb.removes) {
      row.is_there = false;
    } else if (row.flow.actions->text != line.actions->text) {
      row.flow.actions = line.actions;
      row.flow.line = rule_list::kByCommand;
    }
  }

  const std::vector<FlowEntry>& before_;
  std::vector<Row> rows_;
  std::unordered_multimap<std::uint64_t, std::size_t> places_;
};

}  // namespace

rule_list::Edited<FlowEntry> carry_out_bundle(const std::vector<FlowEntry>& flows, const CommandEntries& lines,
                                              std::size_t router_ports, Fields fields) {
  std::vector<const Verb*> verbs;
  const std::string text = without_verbs(lines.text, verbs);
  std::vector<FlowEntry> entries = parse_entries(text, lines.name, router_ports, fields);
  std::ranges::sort(entries, {}, &FlowEntry::line);
  BundledTable table(flows);
  for (FlowEntry& entry : entries) {
    const Verb& verb = *verbs[entry.line];
    table.carry_out(verb, std::move(entry));
  }
  return table.result();
}

}  // namespace penumbra::gswitch
