// SPDX-License-Identifier: Apache-2.0
#include "functions/forwarding/commands.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "functions/forwarding/families.h"
#include "functions/forwarding/table_changes.h"
#include "penumbra/ip.h"

namespace penumbra::forwarding {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view take_word(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(kBlanks), line.size());
  const std::size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

/// Ignores a gateway after `via inet6`, because it belongs to an IPv4 route (RFC 8950).
bool names_ipv6(std::string_view line) {
  for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
    if (word == "inet6") {
      take_word(line);
    } else if (word.find(':') != std::string_view::npos && !parse_mac_address(word)) {
      return true;
    }
  }
  return false;
}

/// Counts the added, removed and changed entries.
template <class Changes, class Before, class After>
Change::Counts count(const Changes& changes, const Before& has_before, const After& has_after) {
  Change::Counts counts;
  for (const auto& change : changes) {
    ++(!has_before(change) ? counts.added : !has_after(change) ? counts.removed : counts.changed);
  }
  return counts;
}

/// Applies the changes with the function `make`, and reverts them with the result of `reverse`.
template <ForwardingFamily Family, class Changes, class Reverse>
class TableChange final : public Change {
 public:
  using Make = void (*)(Tables<Family>&, const Changes&);
  TableChange(Tables<Family>& tables, Make make, Changes changes, Reverse reverse, Counts counts)
      : tables_(tables), make_(make), changes_(std::move(changes)), reverse_(reverse), counts_(counts) {}

  void apply() override { make_(tables_, changes_); }
  void undo() override { make_(tables_, reverse_(changes_)); }
  Counts counts() const override { return counts_; }

 private:
  Tables<Family>& tables_;
  Make make_;
  Changes changes_;
  Reverse reverse_;
  Counts counts_;
};

template <ForwardingFamily Family, class Changes, class Reverse>
std::unique_ptr<Change> make_change(Tables<Family>& tables, void (*make)(Tables<Family>&, const Changes&),
                                    Changes changes, Reverse reverse, Change::Counts counts) {
  return std::make_unique<TableChange<Family, Changes, Reverse>>(tables, make, std::move(changes), reverse, counts);
}

}  // namespace

std::string lines_of_family(std::string_view text, bool ipv6) {
  std::string lines;
  bool is_ipv6 = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    std::string_view words = line.substr(0, line.find('#'));
    const bool names = names_ipv6(words);
    if (take_word(words) != "nexthop") is_ipv6 = names;
    if (is_ipv6 == ipv6) lines += line;
    lines += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

template <ForwardingFamily Family>
std::vector<FunctionCommand> commands() {
  constexpr auto kSelect = [](std::string_view text) {
    return lines_of_family(text, std::is_same_v<typename Family::AddressFamily, Ipv6>);
  };
  const std::string route =
      "[blackhole|unreachable] PREFIX [via ADDRESS] [dev PORT] [metric N] [nexthop via ADDRESS dev PORT weight N]...";
  const std::string neighbour = "ADDRESS dev PORT lladdr MAC";
  return {{.name = "route",
           .help = "Add and remove routes of a running router, as `ip route` does",
           .actions = {{"add", "Add routes that are not there yet", route},
                       {"del", "Remove routes", "PREFIX [metric N]"},
                       {"replace", "Add routes, or let those that are there lead elsewhere", route}},
           .topic = "routes",
           .select = kSelect},
          {.name = "neighbour",
           .help = "Add and remove neighbours of a running router, as `ip neigh` does",
           .actions = {{"add", "Add neighbours that are not there yet", neighbour},
                       {"del", "Remove neighbours", "ADDRESS dev PORT"},
                       {"replace", "Add neighbours, or give those that are there another MAC address", neighbour}},
           .topic = "neighbours",
           .select = kSelect}};
}

template <ForwardingFamily Family>
std::unique_ptr<Change> prepare(Tables<Family>& tables, std::string_view command, std::string_view action,
                                const CommandEntries& entries) {
  if (command == "neighbour") {
    if (tables.subscription != nullptr) {
      throw std::invalid_argument(
          "the neighbours are the host's, as the configuration has 'follow': change them there (`ip neigh`)");
    }
    auto changes =
        action == "del" ? removed_neighbours(tables, entries) : added_neighbours(tables, entries, action == "replace");
    const auto counts = count(
        changes, [](const auto& change) { return change.before.has_value(); },
        [](const auto& change) { return change.after.has_value(); });
    return make_change(tables, &change_neighbours<Family>, std::move(changes), &reversed<Family>, counts);
  }
  auto changes = action == "del" ? removed_routes(tables, entries) : added_routes(tables, entries, action == "replace");
  const auto counts = count(
      changes.routes, [](const auto& route) { return route.before != RouteChanges<Family>::kNone; },
      [](const auto& route) { return route.after != RouteChanges<Family>::kNone; });
  return make_change(
      tables, &change_routes<Family>, std::move(changes),
      [](const RouteChanges<Family>& all) { return all.reversed(); }, counts);
}

#define INSTANTIATE(Family)                                                                             \
  template std::vector<FunctionCommand> commands<Family>();                                             \
  template std::unique_ptr<Change> prepare<Family>(Tables<Family>&, std::string_view, std::string_view, \
                                                   const CommandEntries&);
PENUMBRA_FOR_EACH_FAMILY(INSTANTIATE)
#undef INSTANTIATE

}  // namespace penumbra::forwarding
