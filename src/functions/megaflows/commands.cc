// SPDX-License-Identifier: Apache-2.0
#include "functions/megaflows/commands.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "control/line_reader.h"
#include "penumbra/errors.h"

namespace penumbra::megaflows {
namespace {

using packet_fields::FieldPlace;
using packet_fields::find_field;
using packet_fields::in_port_of;
using packet_fields::kPlaces;

/// Ufids of commands have this upper half. Open vSwitch draws both halves at random.
constexpr std::uint64_t kUpperUfid = 0;

Ufid next_ufid(const FlowTable& table) {
  static std::atomic<std::uint64_t> last{0};
  Ufid ufid{kUpperUfid, ++last};
  while (table.find(ufid)) ufid[1] = ++last;
  return ufid;
}

SparseMatch parse_match(const control::Line& line, std::string_view text) {
  SparseMatch match;
  if (text == "any") return match;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equals);
    const auto field = find_field(name);
    if (!field) {
      std::vector<std::string> names;
      names.reserve(std::size(kPlaces));
      for (const FieldPlace& place : kPlaces) names.emplace_back(place.name);
      throw line.unexpected(name, "a field", names);
    }
    if (get(match.mask, *field) != Number{}) throw line.error(word, "the field " + quote(name) + " is there twice");
    const auto number = parse_field(*field, word.substr(std::min(equals + 1, word.size())));
    if (!number) throw line.error(word, "the field " + quote(name) + " cannot have this value; expected VALUE[/MASK]");
    set(match.mask, *field, number->mask);
    set(match.value, *field, number->value);
  }
  return match;
}

/// Adds or removes megaflows.
class FlowChange final : public Change {
 public:
  FlowChange(FlowTable& table, std::vector<FlowTable::Flow> flows, bool adds)
      : table_(table), flows_(std::move(flows)), adds_(adds) {}

  void apply() override { change(adds_); }
  void undo() override { change(!adds_); }
  Counts counts() const override {
    return adds_ ? Counts{.added = flows_.size(), .removed = 0} : Counts{.added = 0, .removed = flows_.size()};
  }

 private:
  /// Throws std::runtime_error if the table cannot take a megaflow; the table is then unchanged.
  void change(bool adds) {
    const auto lock = table_.hold();
    std::string why;
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      if (!adds) {
        table_.remove(flows_[i].ufid);
      } else if (table_.add(flows_[i], why) != 0) {
        while (i-- > 0) table_.remove(flows_[i].ufid);
        table_.commit();
        throw std::runtime_error(why);
      }
    }
    table_.commit();
  }

  FlowTable& table_;
  const std::vector<FlowTable::Flow> flows_;
  const bool adds_;
};

FlowTable::Flow read_new(control::Line& line, const FlowTable& table, std::span<const PortInfo> ports) {
  constexpr std::string_view kActions = "actions=";
  const std::string_view match = line.require("FIELD=VALUE,... or any");
  FlowTable::Flow flow{.ufid = next_ufid(table), .match = parse_match(line, match), .actions = {}};
  const std::string_view word = line.require("actions=ACTION,...");
  if (!word.starts_with(kActions)) throw line.error(word, "expected actions=ACTION,..., found " + quote(word));
  try {
    flow.actions = parse_actions(word.substr(kActions.size()));
    compile_actions(flow.actions, in_port_of(flow.match), ports);
  } catch (const std::invalid_argument& error) {
    throw line.error(word, error.what());
  }
  if (table.find(flow.match)) throw line.error(match, "there is a megaflow of this match already");
  return flow;
}

}  // namespace

std::vector<FunctionCommand> commands() {
  return {{.name = "megaflow",
           .help = "Add and remove megaflows of a running router",
           .actions = {{"add", "Add megaflows that are not there yet", "FIELD=VALUE[/MASK],... actions=ACTION,..."},
                       {"del", "Remove megaflows of a match, whoever added them", "FIELD=VALUE[/MASK],..."},
                       {"flush", "Remove all megaflows, whoever added them", "all"}},
           .topic = "megaflows"}};
}

std::unique_ptr<Change> prepare_command(std::string_view action, const CommandEntries& entries, FlowTable& table,
                                        std::span<const PortInfo> ports) {
  std::vector<FlowTable::Flow> flows;
  control::LineReader reader(entries.text, entries.name);
  for (control::Line line; reader.next(line);) {
    if (action == "flush") {
      const std::string_view word = line.require("all");
      if (word != "all") throw line.unexpected(word, "all", {"all"});
      for (FlowTable::Row& row : table.rows(std::numeric_limits<std::size_t>::max())) flows.push_back(row.flow);
      continue;
    }
    if (action == "add") {
      flows.push_back(read_new(line, table, ports));
    } else {
      const std::string_view word = line.require("FIELD=VALUE,... or any");
      const auto flow = table.find(parse_match(line, word));
      if (!flow) throw line.error(word, "there is no megaflow of this match; `megaflow show` lists all");
      flows.push_back(*flow);
    }
    const auto is_same = [&](const FlowTable::Flow& other) { return other.match == flows.back().match; };
    if (std::find_if(flows.begin(), flows.end() - 1, is_same) != flows.end() - 1) {
      throw line.error(line.rest(), "an earlier line has the match already");
    }
    if (const std::string_view more = line.peek(); !more.empty()) {
      throw line.error(more, "expected the end of the line, found " + quote(more));
    }
  }
  return std::make_unique<FlowChange>(table, std::move(flows), action == "add");
}

}  // namespace penumbra::megaflows
