// SPDX-License-Identifier: Apache-2.0
#include "functions/forwarding/show.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "base/row_limit.h"
#include "control/route_json.h"
#include "functions/forwarding/ethernet.h"
#include "functions/forwarding/families.h"
#include "penumbra/bytes.h"

namespace penumbra::forwarding {
namespace {

std::string to_text(const FeedHop::Gateway& gateway) {
  if (const auto* const four = std::get_if<Ipv4Address>(&gateway)) return to_string(*four);
  const auto* const six = std::get_if<Ipv6Address>(&gateway);
  return six == nullptr ? "" : to_string(*six);
}

/// True if the host handles a next hop because its gateway is not of the route's family.
template <class RouteFamily>
bool is_of_other_family(const FeedHop::Gateway& gateway) {
  return gateway.index() != 0 && !std::holds_alternative<typename RouteFamily::Address>(gateway);
}

/// Lists routes as JSON, prefix by prefix.
template <ForwardingFamily Family>
class Listing {
 public:
  using Prefix = typename Family::Prefix;
  using Row = typename Fib<Family>::Row;

  Listing(const Fib<Family>& fib, const RouteSubscription* feed, std::span<const PortInfo> ports)
      : fib_(fib), feed_(feed), ports_(ports) {}

  /// Adds rows of the table. Rows of one prefix must be adjacent.
  void add(std::span<const Row> rows) {
    while (!rows.empty()) {
      const auto end = std::ranges::find_if(rows, [&](const auto& row) { return row.prefix != rows[0].prefix; });
      const auto count = static_cast<std::size_t>(end - rows.begin());
      add(rows[0].prefix, rows.first(count));
      rows = rows.subspan(count);
    }
  }
  void add(Prefix prefix) { add(prefix, fib_.rows(prefix)); }
  /// Adds the feed's routes of a prefix whose family this function does not forward.
  void add_unused(Ipv6Prefix prefix) {
    const std::size_t before = list_.size();
    feed_->visit(prefix,
                 [&](const FeedRow& row) { list_.push_back(to_json<Ipv6>(to_string(prefix), row, row.active, {})); });
    if (list_.size() > before) ++prefixes_;
  }

  std::size_t prefixes() const { return prefixes_; }
  nlohmann::ordered_json take() { return std::move(list_); }

 private:
  /// Adds the rows of a prefix. The feed's routes replace the route that the table has for them.
  void add(Prefix prefix, std::span<const Row> rows) {
    const std::size_t before = list_.size();
    const auto is_route = [](const Row& row) { return row.source == "route"; };
    const auto route = std::ranges::find_if(rows, is_route);
    for (auto row = rows.begin(); row != route; ++row) {
      if (row->source != "neighbour") list_.push_back(to_json(*row));
    }
    if (feed_ == nullptr) {
      for (const auto& row : rows) {
        if (is_route(row)) list_.push_back(to_json(row));
      }
    } else {
      const bool counts = route != rows.end() && route->active;
      const auto set = counts ? std::optional(route->set) : std::nullopt;
      feed_->visit(prefix, [&](const FeedRow& row) {
        list_.push_back(to_json<typename Family::AddressFamily>(to_string(prefix), row, row.active && counts, set));
      });
    }
    for (const auto& row : rows) {
      if (row.source == "neighbour") list_.push_back(to_json(row));
    }
    if (list_.size() > before) ++prefixes_;
  }

  /// Marks next hops of the host. The table uses the name "host", which a port may have too.
  nlohmann::ordered_json with_host(nlohmann::ordered_json ways) const {
    if (std::ranges::find(ports_, "host", &PortInfo::name) != ports_.end()) return ways;
    for (auto& way : ways) {
      if (way["dev"] == "host") way["host"] = true;
    }
    return ways;
  }
  nlohmann::ordered_json to_json(const Row& row) const {
    nlohmann::ordered_json shown{{"prefix", to_string(row.prefix)}, {"type", row.type}};
    if (!row.next_hops.empty()) shown["next_hops"] = with_host(control::to_json(row.next_hops));
    shown["metric"] = row.metric ? nlohmann::ordered_json(*row.metric) : nlohmann::ordered_json();
    shown["source"] = row.source;
    shown["active"] = row.active;
    shown["id"] = row.set;
    return shown;
  }
  template <class RouteFamily>
  nlohmann::ordered_json to_json(const std::string& prefix, const FeedRow& row, bool active,
                                 std::optional<SetId> set) const {
    nlohmann::ordered_json shown{{"prefix", prefix}, {"type", FeedTarget::name_of(row.target->kind)}};
    auto hops = nlohmann::ordered_json::array();
    for (const FeedHop& hop : row.target->hops) {
      nlohmann::ordered_json way;
      if (const std::string gateway = to_text(hop.gateway); !gateway.empty()) way["via"] = gateway;
      way["dev"] = hop.port == FeedHop::kHost ? hop.interface : ports_[hop.port].name;
      way["weight"] = hop.weight;
      if (hop.port == FeedHop::kHost || is_of_other_family<RouteFamily>(hop.gateway)) way["host"] = true;
      hops.push_back(std::move(way));
    }
    if (!hops.empty()) shown["next_hops"] = std::move(hops);
    shown["metric"] = row.metric;
    if (row.nexthop_id) shown["nexthop_id"] = *row.nexthop_id;
    shown["source"] = row.source;
    shown["active"] = active;
    shown["id"] = active && set ? nlohmann::ordered_json(*set) : nlohmann::ordered_json();
    return shown;
  }

  const Fib<Family>& fib_;
  const RouteSubscription* feed_;
  std::span<const PortInfo> ports_;
  nlohmann::ordered_json list_ = nlohmann::ordered_json::array();
  std::size_t prefixes_ = 0;
};

/// Returns the longest of the prefixes that covers the address.
std::optional<Ipv6Prefix> longest_match(std::span<const Ipv6Prefix> prefixes, Ipv6Address address) {
  std::optional<Ipv6Prefix> longest;
  for (const Ipv6Prefix prefix : prefixes) {
    if (prefix.contains(address) && (!longest || prefix.length > longest->length)) longest = prefix;
  }
  return longest;
}

/// Returns the prefixes of the followed IPv6 routes that no function of the pipeline uses.
template <ForwardingFamily Family>
std::vector<Ipv6Prefix> unused_prefixes(const RouteSubscription* subscription) {
  if (subscription == nullptr || Family::kEthertype == kIpv6Ethertype) return {};
  return subscription->ipv6_prefixes();
}

template <ForwardingFamily Family>
nlohmann::ordered_json show_memory(const Fib<Family>& fib) {
  auto list = nlohmann::ordered_json::array();
  for (const StructureMemory& each : fib.memory()) {
    nlohmann::ordered_json row{{"structure", each.structure}, {"prefixes", each.prefixes}, {"bytes", each.bytes}};
    row["bytes_per_prefix"] =
        each.prefixes == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(each.bytes / each.prefixes);
    list.push_back(std::move(row));
  }
  return list;
}

template <ForwardingFamily Family>
nlohmann::ordered_json show_routes(const Tables<Family>& tables, std::span<const std::string> arguments) {
  if (std::ranges::count(arguments, "--memory") > 0) {
    if (arguments.size() > 1) throw std::invalid_argument("--memory takes no other argument");
    return show_memory(tables.fib);
  }
  const RowLimit limit(arguments);
  arguments = limit.rest();
  if (arguments.size() > (limit.is_given() ? 0 : 1)) {
    throw std::invalid_argument("expected one PREFIX, one ADDRESS, 'all' or --limit N");
  }
  const bool everything = arguments.empty();
  const auto unused = unused_prefixes<Family>(tables.subscription.get());
  Listing<Family> listing(tables.fib, tables.subscription.get(), tables.ports);
  std::string note = "the table is empty";
  if (everything) {
    listing.add(tables.fib.rows(limit.most()));
    for (const Ipv6Prefix prefix : std::span(unused).first(std::min(limit.most(), unused.size()))) {
      listing.add_unused(prefix);
    }
  } else if (const auto address = Family::parse_address(arguments[0])) {
    if (const auto answer = tables.fib.lookup(*address)) listing.add(answer->prefix);
    note = arguments[0] + " unreachable";
  } else if (const auto prefix = Family::parse_prefix(arguments[0])) {
    listing.add(*prefix);
    note = "no route to exactly " + arguments[0];
  } else if (const auto address6 = parse_ipv6_address(arguments[0])) {
    if (const auto match = longest_match(unused, *address6)) listing.add_unused(*match);
    note = arguments[0] + " unreachable";
  } else if (const auto prefix6 = parse_ipv6_prefix(arguments[0])) {
    if (std::ranges::count(unused, *prefix6) > 0) listing.add_unused(*prefix6);
    note = "no route to exactly " + arguments[0];
  } else if (parse_ipv4_prefix(arguments[0])) {
    note = "no IPv4 routes are listed here";
  } else {
    throw std::invalid_argument("expected a PREFIX, an ADDRESS or 'all', found '" + arguments[0] + "'");
  }
  const std::size_t shown = listing.prefixes();
  const std::size_t total = everything ? std::max(shown, tables.fib.prefixes() + unused.size()) : shown;
  nlohmann::ordered_json answer = RowLimit::answer("routes", listing.take(), shown, total);
  if (shown > 0) note = answer.value("note", "");
  if (tables.subscription != nullptr) {
    for (const FeedSource& source : tables.subscription->sources()) {
      if (!source.problem.empty()) note += (note.empty() ? "" : "; ") + source.problem;
    }
    if (const std::size_t refused = tables.listener.refused(); refused > 0) {
      note += (note.empty() ? "" : "; ") + std::to_string(refused) + " routes or neighbours found no room in the table";
    }
  }
  if (!note.empty()) answer["note"] = note;
  return answer;
}

template <ForwardingFamily Family>
nlohmann::ordered_json show_neighbours(const Tables<Family>& tables, bool leaves_ipv6) {
  auto list = nlohmann::ordered_json::array();
  if (tables.subscription == nullptr) {
    for (const auto& [address, port, mac] : tables.fib.neighbours()) {
      list.push_back({{"address", to_string(address)}, {"port", port}, {"mac", to_string(mac)}});
    }
    return list;
  }
  for (const FeedNeighbour& neighbour : tables.subscription->neighbours()) {
    const bool six = std::holds_alternative<Ipv6Address>(neighbour.address);
    const bool own = six == (Family::kEthertype == kIpv6Ethertype);
    if (!own && (!six || leaves_ipv6)) continue;
    const std::string address = std::visit([](auto known) { return to_string(known); }, neighbour.address);
    list.push_back({{"address", address},
                    {"port", tables.ports[neighbour.port].name},
                    {"mac", neighbour.mac ? nlohmann::ordered_json(to_string(*neighbour.mac)) : nullptr},
                    {"state", neighbour.state}});
  }
  return list;
}

nlohmann::ordered_json show_sources(const RouteSubscription* subscription) {
  auto list = nlohmann::ordered_json::array();
  if (subscription == nullptr) return list;
  for (const FeedSource& source : subscription->sources()) {
    nlohmann::ordered_json row{{"source", source.name}, {"problem", source.problem}};
    if (source.name == "kernel") row["overflows"] = source.overflows;
    if (source.name == "fpm") {
      row["client"] = source.peer.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(source.peer);
      row["frames"] = source.frames;
      row["connections"] = source.connections;
      row["refused"] = source.refused;
      row["malformed"] = source.malformed;
    }
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace

/// Repeats the look-up on the control side of the table, because the result of a worker has no prefix.
template <ForwardingFamily Family>
nlohmann::ordered_json explain(const Tables<Family>& tables, const Chunk& chunk, std::uint16_t packet) {
  auto explained = nlohmann::ordered_json::object();
  if (!item_of(chunk, packet)) return explained;
  const auto* const frame = rte_pktmbuf_mtod(chunk.packets[packet], const std::uint8_t*);
  const auto destination = Family::Header::destination(frame + kEthernetBytes);
  const auto answer = tables.fib.lookup(destination);
  explained["route"] = answer ? nlohmann::ordered_json(to_string(answer->prefix)) : nlohmann::ordered_json();
  explained["leads_to"] = answer ? answer->target : "nowhere: there is no route";
  const Verdict verdict = chunk.verdicts[packet];
  if (verdict.kind != Verdict::Kind::send) return explained;
  const MacAddress mac{std::uint64_t{load_be16(frame)} << 32 | load_be32(frame + 2)};
  explained["neighbour"] = to_string(mac);
  for (const auto& neighbour : tables.fib.neighbours()) {
    if (neighbour.mac != mac || neighbour.port != tables.ports[verdict.value].name) continue;
    const std::string address = to_string(neighbour.address);
    const bool is_gateway = answer && answer->target.find("via " + address + " ") != std::string::npos;
    if (is_gateway || neighbour.address == destination) explained["neighbour"] = address + " lladdr " + to_string(mac);
  }
  return explained;
}

template <ForwardingFamily Family>
nlohmann::ordered_json show(const Tables<Family>& tables, std::string_view topic,
                            std::span<const std::string> arguments, bool leaves_ipv6) {
  if (topic == "routes") return show_routes(tables, arguments);
  if (!arguments.empty()) throw std::invalid_argument(std::string(topic) + " takes no arguments");
  if (topic == "neighbours") return show_neighbours(tables, leaves_ipv6);
  if (topic == "sources") return show_sources(tables.subscription.get());
  throw std::invalid_argument("there is nothing to show under '" + std::string(topic) + "'");
}

#define INSTANTIATE(Family)                                                                                           \
  template nlohmann::ordered_json explain<Family>(const Tables<Family>&, const Chunk&, std::uint16_t);                \
  template nlohmann::ordered_json show<Family>(const Tables<Family>&, std::string_view, std::span<const std::string>, \
                                               bool);
PENUMBRA_FOR_EACH_FAMILY(INSTANTIATE)
#undef INSTANTIATE

}  // namespace penumbra::forwarding
