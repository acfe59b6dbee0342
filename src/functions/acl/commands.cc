// SPDX-License-Identifier: Apache-2.0
#include "functions/acl/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "control/line_reader.h"
#include "control/rules/number.h"
#include "penumbra/errors.h"
#include "tables/rules/rule_table.h"

namespace penumbra::acl {
namespace {

using control::Line;

/// Changes a list line by line. Places count from 1.
class Editor {
 public:
  Editor(const std::vector<Entry>& list, Family family) : family_(family), removed_(list.size()) {
    edited_.entries = list;
    for (const Entry& entry : list) ++known_[rule_list::hash_of(entry.match)];
    next_ = list.size();
  }

  void add(Line& line) {
    const std::string_view first = line.peek();
    const std::optional<std::size_t> place = take_place(line, size() + 1);
    Entry entry = read(line, first);
    const auto same = std::ranges::find_if(edited_.entries, [&](const Entry& each) { return each.is_like(entry); });
    if (is_known(entry) && same != edited_.entries.end()) {
      throw line.error(first, fmt::format("entry {} is the same already", same - edited_.entries.begin() + 1));
    }
    if (size() + 1 == kMostRules) throw line.error(first, fmt::format("more than {} entries", kMostRules - 1));
    if (place) next_ = *place - 1;
    insert(next_++, std::move(entry));
  }

  /// Places refer to the list before the command.
  void remove(Line& line) {
    const std::string_view first = line.peek();
    std::size_t at = 0;
    if (const auto place = take_place(line, size())) {
      at = *place - 1;
      if (const std::string_view more = line.take(); !more.empty()) {
        throw line.unexpected(more, "the end of the line: an entry is named by its place or by its words", {});
      }
      if (removed_[at]) throw line.error(first, fmt::format("entry {} is removed already", *place));
    } else {
      const Entry entry = read(line, first);
      while (at < size() && (removed_[at] || !edited_.entries[at].is_like(entry))) ++at;
      if (at == size()) throw line.error(first, "there is no such entry; `acl show` lists those that there are");
    }
    removed_[at] = true;
    ++edited_.counts.removed;
  }

  void replace(Line& line) {
    const std::string_view first = line.peek();
    const auto place = take_place(line, size());
    Entry entry = read(line, first);
    const auto matches_the_same = [&](const Entry& each) { return each.match == entry.match; };
    const auto at = place ? edited_.entries.begin() + static_cast<std::ptrdiff_t>(*place - 1)
                          : std::ranges::find_if(edited_.entries, matches_the_same);
    if (at == edited_.entries.end()) return insert(size(), std::move(entry));
    if (at->is_like(entry)) return;
    *at = std::move(entry);
    ++edited_.counts.changed;
  }

  rule_list::Edited<Entry> take() {
    if (edited_.counts.removed > 0) {
      std::size_t at = 0;
      std::erase_if(edited_.entries, [&](const Entry& /*entry*/) { return bool{removed_[at++]}; });
    }
    return std::move(edited_);
  }

 private:
  std::size_t size() const { return edited_.entries.size(); }
  bool is_known(const Entry& entry) const { return known_.contains(rule_list::hash_of(entry.match)); }

  void insert(std::size_t at, Entry entry) {
    ++known_[rule_list::hash_of(entry.match)];
    edited_.entries.insert(edited_.entries.begin() + static_cast<std::ptrdiff_t>(at), std::move(entry));
    ++edited_.counts.added;
  }

  /// Reads `at N` if the line begins with these words.
  static std::optional<std::size_t> take_place(Line& line, std::size_t most) {
    if (line.peek() != "at") return std::nullopt;
    line.take();
    const std::string_view word = line.require("the place of an entry");
    const auto number = control::rules::parse_number(word, most);
    if (number && *number > 0) return number;
    if (most == 0) throw line.error(word, "the list has no entries");
    throw line.error(word, fmt::format("expected a place from 1 to {}, found {}", most, quote(word)));
  }

  Entry read(Line& line, std::string_view first) const {
    if (line.peek().empty()) throw line.error(first, "the entry is missing: permit or deny, and what it matches");
    Entry entry = read_entry(line, family_);
    entry.line = rule_list::kByCommand;
    return entry;
  }

  Family family_;
  rule_list::Edited<Entry> edited_;
  std::vector<bool> removed_;
  std::unordered_map<std::uint64_t, std::size_t> known_;  ///< number of entries by the hash of their match
  std::size_t next_ = 0;                                  ///< index at which the next entry without a place is inserted
};

}  // namespace

std::vector<FunctionCommand> commands() {
  const std::string entry =
      "[at N] permit|deny [ipv4|ipv6] [src PREFIX] [dst PREFIX] [proto NAME] [sport PORTS] [dport PORTS] "
      "[icmp-type N [icmp-code N]]";
  return {{.name = "acl",
           .help = "Add and remove entries of a running router's access list",
           .actions = {{"add", "Add entries: in front of entry N with `at N`, else at the end", entry},
                       {"del", "Remove entries, by their places or by their words", "at N, or the words of an entry"},
                       {"replace", "Replace entry N, or the entry that matches the same packets; add it if none does",
                        entry}},
           .topic = "acl"}};
}

rule_list::Edited<Entry> edit(const std::vector<Entry>& list, std::string_view action, const CommandEntries& entries,
                              Family family) {
  Editor editor(list, family);
  control::LineReader reader(entries.text, entries.name);
  for (Line line; reader.next(line);) {
    if (action == "add") {
      editor.add(line);
    } else if (action == "del") {
      editor.remove(line);
    } else {
      editor.replace(line);
    }
  }
  return editor.take();
}

}  // namespace penumbra::acl
