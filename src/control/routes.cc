// SPDX-License-Identifier: Apache-2.0
#include "control/routes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <ostream>
#include <span>
#include <tuple>
#include <type_traits>
#include <unordered_map>

#include "base/text_file.h"
#include "control/line_reader.h"

namespace penumbra::control {
namespace {

// Lists the words of `ip route` that do not affect forwarding: the route's origin, settings of the host's own
// connections and path MTU discovery, and link states (ip/iproute.c of iproute2).
constexpr std::array<Attribute, 37> kRouteAttributes{{{"proto"},
                                                      {"scope"},
                                                      {"src"},
                                                      {"onlink", Attribute::kFlag},
                                                      {"dead", Attribute::kFlag},
                                                      {"linkdown", Attribute::kFlag},
                                                      {"pervasive", Attribute::kFlag},
                                                      {"unresolved", Attribute::kFlag},
                                                      {"offload", Attribute::kFlag},
                                                      {"rt_offload", Attribute::kFlag},
                                                      {"offload_failed", Attribute::kFlag},
                                                      {"rt_offload_failed", Attribute::kFlag},
                                                      {"trap", Attribute::kFlag},
                                                      {"rt_trap", Attribute::kFlag},
                                                      {"notify", Attribute::kFlag},
                                                      {"nhid"},
                                                      {"pref"},
                                                      {"realm"},
                                                      {"realms"},
                                                      {"expires"},
                                                      {"error"},
                                                      {"mtu", Attribute::kLockable},
                                                      {"advmss", Attribute::kLockable},
                                                      {"window", Attribute::kLockable},
                                                      {"rtt", Attribute::kLockable},
                                                      {"rttvar", Attribute::kLockable},
                                                      {"ssthresh", Attribute::kLockable},
                                                      {"cwnd", Attribute::kLockable},
                                                      {"initcwnd", Attribute::kLockable},
                                                      {"initrwnd", Attribute::kLockable},
                                                      {"rto_min", Attribute::kLockable},
                                                      {"hoplimit", Attribute::kLockable},
                                                      {"congctl", Attribute::kLockable},
                                                      {"reordering", Attribute::kLockable},
                                                      {"features", Attribute::kLockable},
                                                      {"quickack", Attribute::kLockable},
                                                      {"fastopen_no_cookie", Attribute::kLockable}}};

/// Represents a word that would change forwarding in a way that Penumbra does not support, with the reason and a
/// remedy.
struct Refusal {
  std::string_view word, reason;
};
constexpr std::string_view kHosts = "such routes are the host's; give ports their addresses with the key 'addresses'";
constexpr std::string_view kForgotten = "Linux has no such routes any more; leave the route out";
constexpr std::array<Refusal, 7> kRefusedTypes{
    {{"throw", "there is one table, so none to go on in; leave the route out or write 'unreachable'"},
     {"local", kHosts},
     {"broadcast", kHosts},
     {"multicast", kHosts},
     {"anycast", kHosts},
     {"nat", kForgotten},
     {"xresolve", kForgotten}}};
constexpr std::array<Refusal, 4> kRefusedWords{
    {{"table", "there is one table; print that table alone ('ip route show table NAME')"},
     {"tos", "routes by type of service come with a later version"},
     {"encap", "tunnels come with a later version"},
     {"from", "routes by source come with a later version"}}};

// `ip route` prints each next hop of a multipath route in its own line.
constexpr std::string_view kContinuation = "nexthop";
constexpr std::uint32_t kMaxWeight = 256;
constexpr std::uint32_t kMaxMetric = ~std::uint32_t{0};

std::uint32_t parse_number(const Line& line, std::string_view word, std::string_view what, std::uint32_t least,
                           std::uint32_t most) {
  std::uint32_t number = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (failure != std::errc{} || end != word.data() + word.size() || number < least || number > most) {
    throw line.error(word, "expected a " + std::string(what) + " from " + std::to_string(least) + " to " +
                               std::to_string(most) + ", found " + quote(word));
  }
  return number;
}

void refuse(const Line& line, std::string_view word, std::span<const Refusal> refused) {
  const auto found = std::ranges::find(refused, word, &Refusal::word);
  if (found != refused.end()) throw line.error(word, quote(word) + ": " + std::string(found->reason));
}

template <class Family>
std::string prefix_in_words() {
  return "a prefix (" + std::string(Family::kForm) + "/LENGTH)";
}

/// Returns an error that says why `word` is no prefix.
template <class Family>
InputError bad_prefix(const Line& line, std::string_view word) {
  const std::size_t slash = word.find('/');
  require_family<Family>(line, word, word.substr(0, slash), "prefix");
  const auto address = Family::parse_address(word.substr(0, slash));
  if (!address || slash == std::string_view::npos) {
    return line.unexpected(word, prefix_in_words<Family>(),
                           {"default", "unicast", "blackhole", "unreachable", "prohibit"});
  }
  const std::string_view digits = word.substr(slash + 1);
  const auto prefix = Family::Prefix::around(
      *address, static_cast<std::uint8_t>(parse_number(line, digits, "prefix length", 0, Family::kBits)));
  const auto right = to_string(prefix);
  if (prefix.address == *address)
    return line.error(word, "expected a prefix such as " + right + ", found " + quote(word));
  return line.error(word, quote(word) + " has bits set past its length; the prefix would be " + right);
}

/// Holds the parsed words after a prefix.
struct Tail {
  std::uint32_t metric = 0;
  std::uint32_t target = 0;
};
/// Holds the parsed words before their target has an index. Absent words are nullopt.
template <class Family>
struct TailWords {
  std::optional<std::uint32_t> metric;
  std::optional<RouteTargetOf<Family>> target;
};
/// Holds the parsed words before the tail.
template <class Family>
struct Head {
  RouteKind kind = RouteKind::unicast;
  typename Family::Prefix prefix;
};

/// Holds a next hop under construction. The string views are its words in the text, empty until found.
template <class Family>
struct HopDraft {
  std::string_view begin;  ///< The word `nexthop`; empty for the words before the first `nexthop`.
  std::string_view gateway, port, weight;
  NextHopOf<Family> hop;
};

/// Returns the words that may follow a prefix, those with an effect first.
std::vector<std::string> with_attributes(std::vector<std::string> words) {
  for (const auto& attribute : kRouteAttributes) words.emplace_back(attribute.word);
  return words;
}

/// Reads the rest of the words after `via`. The caller has taken the first one.
template <class Family>
void read_gateway(Line& line, HopDraft<Family>& draft) {
  if constexpr (std::is_same_v<Family, Ipv4>) {
    if (draft.gateway == "inet6") {
      draft.hop.inet6_gateway = parse_neighbour_address<Ipv6>(line, line.require("an IPv6 address"));
      return;
    }
    if (parse_ipv6_address(draft.gateway)) {
      throw line.error(draft.gateway, "expected an IPv4 address, found " + quote(draft.gateway) +
                                          "; write 'via inet6' before a gateway of IPv6");
    }
  } else if (draft.gateway == "inet" || parse_ipv4_address(draft.gateway)) {
    throw line.error(draft.gateway, "expected an IPv6 address, found " + quote(draft.gateway) +
                                        "; an IPv6 route has no gateway of IPv4");
  }
  draft.hop.gateway = parse_neighbour_address<Family>(line, draft.gateway);
}

template <class Family>
NextHopOf<Family> finish_hop(const Line& line, HopDraft<Family>&& draft) {
  if (!draft.port.empty()) return std::move(draft.hop);
  const std::string_view begin = draft.gateway.empty() ? draft.begin : draft.gateway;
  if (begin.empty()) throw line.error(line.peek(), "expected 'via ADDRESS dev PORT', 'dev PORT' or 'nexthop'");
  throw line.error(begin, "'dev PORT' is missing in the next hop");
}

template <class Family>
class RouteParser {
 public:
  using RouteTarget = RouteTargetOf<Family>;
  explicit RouteParser(const std::vector<std::string>& ports) : ports_(ports) {}

  RouteListOf<Family> parse(std::string_view text, const std::string& name);
  /// Returns the line of each route that parse() has returned.
  std::vector<int> take_lines() { return std::move(lines_); }
  std::vector<RouteRemovalOf<Family>> parse_removals(std::string_view text, const std::string& name);

 private:
  Head<Family> parse_head(Line& line) const;
  void parse_route(Line& line);
  TailWords<Family> parse_tail(Line& line, RouteKind kind, bool may_lead_anywhere);
  Tail parse_whole_tail(Line& line, RouteKind kind);
  std::uint32_t intern(RouteTarget target);
  void reject_duplicates(std::string_view text, const std::string& name) const;

  const std::vector<std::string>& ports_;
  RouteListOf<Family> list_;
  std::vector<int> lines_;                            ///< Line of each route.
  std::unordered_map<std::string_view, Tail> tails_;  ///< Maps unicast words in the file's spelling to their tails.
  std::unordered_map<std::string, std::uint32_t> targets_;  ///< Keyed by to_string().
};

template <class Family>
RouteListOf<Family> RouteParser<Family>::parse(std::string_view text, const std::string& name) {
  const auto most = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  list_.routes.reserve(most);
  lines_.reserve(most);
  LineReader reader(text, name, kContinuation);
  for (Line line; reader.next(line);) parse_route(line);
  reject_duplicates(text, name);
  return std::move(list_);
}

template <class Family>
Head<Family> RouteParser<Family>::parse_head(Line& line) const {
  using Kind = RouteKind;
  std::string_view word = line.take();
  Kind kind = Kind::unicast;
  if (word == "blackhole") kind = Kind::blackhole;
  if (word == "unreachable" || word == "prohibit") kind = Kind::unreachable;
  refuse(line, word, kRefusedTypes);
  if (kind != Kind::unicast || word == "unicast") word = line.require(prefix_in_words<Family>());
  if (word == "nexthop") {
    throw line.error(word, "a next hop without its route, which is in the line before");
  }
  const auto prefix = Family::parse_prefix(word);
  if (!prefix) throw bad_prefix<Family>(line, word);
  return {.kind = kind, .prefix = *prefix};
}

template <class Family>
void RouteParser<Family>::parse_route(Line& line) {
  const auto [kind, prefix] = parse_head(line);
  // A million routes have a few dozen different tails. Each tail is parsed once and then found by its text.
  Tail tail;
  if (kind != RouteKind::unicast) {
    tail = parse_whole_tail(line, kind);
  } else if (const auto known = tails_.find(line.rest()); known != tails_.end()) {
    tail = known->second;
  } else {
    const std::string_view text = line.rest();
    tail = parse_whole_tail(line, kind);
    tails_.emplace(text, tail);
  }
  list_.routes.push_back({prefix, tail.metric, tail.target});
  lines_.push_back(line.number());
}

template <class Family>
Tail RouteParser<Family>::parse_whole_tail(Line& line, RouteKind kind) {
  TailWords<Family> words = parse_tail(line, kind, false);
  return {.metric = words.metric.value_or(0), .target = intern(std::move(words.target).value())};
}

template <class Family>
std::vector<RouteRemovalOf<Family>> RouteParser<Family>::parse_removals(std::string_view text,
                                                                        const std::string& name) {
  std::vector<RouteRemovalOf<Family>> removals;
  LineReader reader(text, name, kContinuation);
  for (Line line; reader.next(line);) {
    const auto [kind, prefix] = parse_head(line);
    TailWords<Family> tail = parse_tail(line, kind, true);
    removals.push_back({prefix, tail.metric, std::move(tail.target), line.number()});
  }
  return removals;
}

template <class Family>
TailWords<Family> RouteParser<Family>::parse_tail(Line& line, RouteKind kind, bool may_lead_anywhere) {
  const bool unicast = kind == RouteKind::unicast;
  RouteTarget target{kind, {}};
  std::string_view metric_word;
  std::optional<std::uint32_t> metric;
  HopDraft<Family> draft;
  const auto take_once = [&line](std::string_view word, std::string_view& value, std::string_view expected) {
    if (!value.empty()) throw line.error(word, quote(word) + " is given twice");
    value = line.require(expected);
  };
  for (std::string_view word = line.take(); !word.empty(); word = line.take()) {
    const bool in_hop = !draft.begin.empty();
    if (word == "via" && unicast) {
      take_once(word, draft.gateway, "an " + std::string(Family::kName) + " address");
      read_gateway(line, draft);
    } else if (word == "dev" && unicast) {
      take_once(word, draft.port, "the name of a port");
      draft.hop.port = parse_port(line, draft.port, ports_);
    } else if (word == "dev") {
      // `ip route` prints `dev lo` for some blackhole and unreachable routes.
      line.require("the name of an interface");
    } else if (word == "weight" && in_hop) {
      take_once(word, draft.weight, "a weight");
      draft.hop.weight = static_cast<std::uint16_t>(parse_number(line, draft.weight, "weight", 1, kMaxWeight));
    } else if (word == "metric" && !in_hop) {
      take_once(word, metric_word, "a metric");
      metric = parse_number(line, metric_word, "metric", 0, kMaxMetric);
    } else if (word == "nexthop" && unicast) {
      if (in_hop) {
        target.next_hops.push_back(finish_hop(line, std::move(draft)));
      } else if (!draft.gateway.empty() || !draft.port.empty()) {
        throw line.error(word, "a route has either 'via' and 'dev' of its own or next hops, not both");
      }
      draft = HopDraft<Family>{.begin = word, .gateway = {}, .port = {}, .weight = {}, .hop = {}};
    } else if (!line.skip_attribute(word, kRouteAttributes) && !(word == "\\" && line.peek() == "nexthop")) {
      refuse(line, word, kRefusedWords);
      if (!unicast) throw line.unexpected(word, "the end of the line", with_attributes({"metric"}));
      if (word == "metric") throw line.error(word, "'metric' comes before the first 'nexthop'");
      if (in_hop) {
        throw line.unexpected(word, "more of the next hop", with_attributes({"via", "dev", "weight", "nexthop"}));
      }
      throw line.unexpected(word, "more of the route", with_attributes({"via", "dev", "metric", "nexthop"}));
    }
  }
  const bool leads_nowhere = draft.begin.empty() && draft.gateway.empty() && draft.port.empty();
  if (unicast && may_lead_anywhere && leads_nowhere) return {.metric = metric, .target = std::nullopt};
  if (unicast) target.next_hops.push_back(finish_hop(line, std::move(draft)));
  return {.metric = metric, .target = std::move(target)};
}

template <class Family>
std::uint32_t RouteParser<Family>::intern(RouteTarget target) {
  const auto next = static_cast<std::uint32_t>(list_.targets.size());
  const auto [entry, added] = targets_.emplace(to_string(target), next);
  if (added) list_.targets.push_back(std::move(target));
  return entry->second;
}

/// Throws an error at the first line that repeats an earlier route.
template <class Family>
void RouteParser<Family>::reject_duplicates(std::string_view text, const std::string& name) const {
  const auto key = [this](std::uint32_t i) { return std::tie(list_.routes[i].prefix, list_.routes[i].metric); };
  const auto before = [&key](std::uint32_t a, std::uint32_t b) {
    const auto comparison = key(a) <=> key(b);
    return comparison < 0 || (comparison == 0 && a < b);  // Equal routes stay in the order of their lines.
  };
  std::vector<std::uint32_t> order(list_.routes.size());
  std::iota(order.begin(), order.end(), 0U);
  if (!std::is_sorted(order.begin(), order.end(), before)) std::sort(order.begin(), order.end(), before);

  constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t found = kNone;
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (key(order[i - 1]) == key(order[i]) && (found == kNone || order[i] < order[found])) found = i;
  }
  if (found == kNone) return;
  std::size_t first = found;
  while (first > 0 && key(order[first - 1]) == key(order[found])) --first;
  const RouteOf<Family>& route = list_.routes[order[found]];
  throw error_in_line(text, name, lines_[order[found]],
                      "the route to " + to_string(route.prefix) + " with metric " + std::to_string(route.metric) +
                          " is in line " + std::to_string(lines_[order[first]]) + " already");
}

template <class Family>
std::string to_string(const NextHopOf<Family>& hop) {
  const std::string dev = "dev " + hop.port;
  if (hop.inet6_gateway) return "via inet6 " + penumbra::to_string(*hop.inet6_gateway) + " " + dev;
  return (hop.gateway ? "via " + penumbra::to_string(*hop.gateway) + " " : "") + dev;
}

}  // namespace

template <class Family>
RouteListOf<Family> read_routes(const std::filesystem::path& file, const std::vector<std::string>& ports) {
  return parse_routes<Family>(read_text_file(file), file.string(), ports);
}

template <class Family>
RouteListOf<Family> parse_routes(std::string_view text, const std::string& name,
                                 const std::vector<std::string>& ports) {
  return RouteParser<Family>(ports).parse(text, name);
}

template <class Family>
RouteEntriesOf<Family> parse_route_entries(std::string_view text, const std::string& name,
                                           const std::vector<std::string>& ports) {
  RouteParser<Family> parser(ports);
  RouteEntriesOf<Family> entries{.list = parser.parse(text, name), .lines = {}};
  entries.lines = parser.take_lines();
  return entries;
}

template <class Family>
std::vector<RouteRemovalOf<Family>> parse_route_removals(std::string_view text, const std::string& name,
                                                         const std::vector<std::string>& ports) {
  return RouteParser<Family>(ports).parse_removals(text, name);
}

InputError error_in_line(std::string_view text, const std::string& name, int line, const std::string& message) {
  Line found;
  LineReader reader(text, name, kContinuation);
  while (reader.next(found) && found.number() < line) {
  }
  return found.error(found.peek(), message);
}

template <class Family>
std::string to_string(const RouteTargetOf<Family>& target) {
  if (target.kind == RouteKind::blackhole) return "blackhole";
  if (target.kind == RouteKind::unreachable) return "unreachable";
  if (target.next_hops.size() == 1 && target.next_hops[0].weight == 1) return to_string(target.next_hops[0]);
  std::string text;
  for (const auto& hop : target.next_hops) {
    text += (text.empty() ? "nexthop " : " nexthop ") + to_string(hop) + " weight " + std::to_string(hop.weight);
  }
  return text;
}

template <class Family>
void write_routes(std::ostream& out, const RouteListOf<Family>& list) {
  std::vector<std::string> texts;
  texts.reserve(list.targets.size());
  for (const auto& target : list.targets) texts.push_back(to_string(target));
  for (const auto& route : list.routes) {
    const std::string prefix = to_string(route.prefix);
    const std::string metric = route.metric == 0 ? "" : " metric " + std::to_string(route.metric);
    const std::string& text = texts[route.target];
    if (list.targets[route.target].kind != RouteKind::unicast) {
      out << text << ' ' << prefix << metric << '\n';
    } else if (text.starts_with("nexthop")) {
      out << prefix << metric << ' ' << text << '\n';
    } else {
      out << prefix << ' ' << text << metric << '\n';
    }
  }
}

template RouteListOf<Ipv4> read_routes<Ipv4>(const std::filesystem::path&, const std::vector<std::string>&);
template RouteListOf<Ipv6> read_routes<Ipv6>(const std::filesystem::path&, const std::vector<std::string>&);
template RouteListOf<Ipv4> parse_routes<Ipv4>(std::string_view, const std::string&, const std::vector<std::string>&);
template RouteListOf<Ipv6> parse_routes<Ipv6>(std::string_view, const std::string&, const std::vector<std::string>&);
template RouteEntriesOf<Ipv4> parse_route_entries<Ipv4>(std::string_view, const std::string&,
                                                        const std::vector<std::string>&);
template RouteEntriesOf<Ipv6> parse_route_entries<Ipv6>(std::string_view, const std::string&,
                                                        const std::vector<std::string>&);
template std::vector<RouteRemovalOf<Ipv4>> parse_route_removals<Ipv4>(std::string_view, const std::string&,
                                                                      const std::vector<std::string>&);
template std::vector<RouteRemovalOf<Ipv6>> parse_route_removals<Ipv6>(std::string_view, const std::string&,
                                                                      const std::vector<std::string>&);
template std::string to_string(const RouteTargetOf<Ipv4>&);
template std::string to_string(const RouteTargetOf<Ipv6>&);
template void write_routes(std::ostream&, const RouteListOf<Ipv4>&);
template void write_routes(std::ostream&, const RouteListOf<Ipv6>&);

}  // namespace penumbra::control
