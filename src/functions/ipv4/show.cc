// SPDX-License-Identifier: Apache-2.0
//
// What the function shows. Where a feed fills the table, the routes are shown as the feed knows them, also those that
// do not count.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "control/route_json.h"
#include "functions/ipv4/ipv4.h"

namespace penumbra::ipv4 {
namespace {

constexpr std::size_t kRowsUnasked = 1000;

std::string to_text(const FeedHop::Gateway& gateway) {
  if (const auto* const four = std::get_if<Ipv4Address>(&gateway)) return to_string(*four);
  const auto* const six = std::get_if<Ipv6Address>(&gateway);
  return six == nullptr ? "" : to_string(*six);
}

/// Routes in JSON, prefix by prefix.
class Listing {
 public:
  Listing(const Ipv4Fib& fib, const RouteSubscription* feed, std::span<const PortInfo> ports)
      : fib_(fib), feed_(feed), ports_(ports) {}

  /// What the table has of prefixes: those of one prefix stand together.
  void add(std::span<const Ipv4Fib::Row> rows) {
    while (!rows.empty()) {
      const auto end = std::ranges::find_if(rows, [&](const auto& row) { return row.prefix != rows[0].prefix; });
      const auto count = static_cast<std::size_t>(end - rows.begin());
      add(rows[0].prefix, rows.first(count));
      rows = rows.subspan(count);
    }
  }
  void add(Ipv4Prefix prefix) { add(prefix, fib_.rows(prefix)); }
  void add(Ipv6Prefix prefix) {
    const std::size_t before = list_.size();
    feed_->visit(prefix, [&](const FeedRow& row) { list_.push_back(to_json(to_string(prefix), row, row.active, {})); });
    if (list_.size() > before) ++prefixes_;
  }

  std::size_t prefixes() const { return prefixes_; }
  nlohmann::ordered_json take() { return std::move(list_); }

 private:
  /// The feed's routes stand in place of the one that the table has of them.
  void add(Ipv4Prefix prefix, std::span<const Ipv4Fib::Row> rows) {
    const std::size_t before = list_.size();
    const auto is_route = [](const Ipv4Fib::Row& row) { return row.source == "route"; };
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
        list_.push_back(to_json(to_string(prefix), row, row.active && counts, set));
      });
    }
    for (const auto& row : rows) {
      if (row.source == "neighbour") list_.push_back(to_json(row));
    }
    if (list_.size() > before) ++prefixes_;
  }

  static nlohmann::ordered_json to_json(const Ipv4Fib::Row& row) {
    nlohmann::ordered_json shown{{"prefix", to_string(row.prefix)}, {"type", row.type}};
    if (!row.next_hops.empty()) shown["next_hops"] = control::to_json(row.next_hops);
    shown["metric"] = row.metric ? nlohmann::ordered_json(*row.metric) : nlohmann::ordered_json();
    shown["source"] = row.source;
    shown["active"] = row.active;
    shown["id"] = row.set;
    return shown;
  }
  nlohmann::ordered_json to_json(const std::string& prefix, const FeedRow& row, bool active,
                                 std::optional<Ipv4Fib::SetId> set) const {
    nlohmann::ordered_json shown{{"prefix", prefix}, {"type", FeedTarget::name_of(row.target->kind)}};
    auto hops = nlohmann::ordered_json::array();
    for (const FeedHop& hop : row.target->hops) {
      nlohmann::ordered_json way;
      if (const std::string gateway = to_text(hop.gateway); !gateway.empty()) way["via"] = gateway;
      way["dev"] = hop.port == FeedHop::kHost ? hop.interface : ports_[hop.port].name;
      way["weight"] = hop.weight;
      if (hop.port == FeedHop::kHost) way["host"] = true;
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

  const Ipv4Fib& fib_;
  const RouteSubscription* feed_;
  std::span<const PortInfo> ports_;
  nlohmann::ordered_json list_ = nlohmann::ordered_json::array();
  std::size_t prefixes_ = 0;
};

/// The longest of the prefixes that covers the address.
std::optional<Ipv6Prefix> longest_match(std::span<const Ipv6Prefix> prefixes, Ipv6Address address) {
  std::optional<Ipv6Prefix> longest;
  for (const Ipv6Prefix prefix : prefixes) {
    if (prefix.contains(address) && (!longest || prefix.length > longest->length)) longest = prefix;
  }
  return longest;
}

}  // namespace

nlohmann::ordered_json Ipv4Function::show(std::string_view topic, std::span<const std::string> arguments) const {
  if (topic == "routes") return show_routes(arguments);
  if (!arguments.empty()) throw std::invalid_argument(std::string(topic) + " takes no arguments");
  if (topic == "neighbours") return show_neighbours();
  if (topic == "sources") return show_sources();
  throw std::invalid_argument("ipv4 does not show '" + std::string(topic) + "'");
}

nlohmann::ordered_json Ipv4Function::show_routes(std::span<const std::string> arguments) const {
  if (arguments.size() > 1) throw std::invalid_argument("expected one PREFIX, one ADDRESS or 'all'");
  const bool everything = arguments.empty() || arguments[0] == "all";
  const auto ipv6 = subscription_ == nullptr ? std::vector<Ipv6Prefix>{} : subscription_->ipv6_prefixes();
  Listing listing(fib_, subscription_.get(), ports_);
  std::string note = "the table is empty";
  if (everything) {
    const std::size_t most = arguments.empty() ? kRowsUnasked : SIZE_MAX;
    listing.add(fib_.rows(most));
    for (const Ipv6Prefix prefix : std::span(ipv6).first(std::min(most, ipv6.size()))) listing.add(prefix);
  } else if (const auto address = parse_ipv4_address(arguments[0])) {
    if (const auto answer = fib_.lookup(*address)) listing.add(answer->prefix);
    note = arguments[0] + " unreachable";
  } else if (const auto prefix = parse_ipv4_prefix(arguments[0])) {
    listing.add(*prefix);
    note = "no route to exactly " + arguments[0];
  } else if (const auto address6 = parse_ipv6_address(arguments[0])) {
    if (const auto match = longest_match(ipv6, *address6)) listing.add(*match);
    note = arguments[0] + " unreachable";
  } else if (const auto prefix6 = parse_ipv6_prefix(arguments[0])) {
    if (subscription_ != nullptr) listing.add(*prefix6);
    note = "no route to exactly " + arguments[0];
  } else {
    throw std::invalid_argument("expected a PREFIX, an ADDRESS or 'all', found '" + arguments[0] + "'");
  }
  const std::size_t shown = listing.prefixes();
  const std::size_t total = everything ? std::max(shown, fib_.prefixes() + ipv6.size()) : shown;
  if (shown > 0) note = shown < total ? "'show routes all' shows every one" : "";
  nlohmann::ordered_json answer{{"routes", listing.take()}, {"total", total}, {"truncated", shown < total}};
  if (subscription_ != nullptr) {
    for (const FeedSource& source : subscription_->sources()) {
      if (!source.problem.empty()) note += (note.empty() ? "" : "; ") + source.problem;
    }
    if (const std::size_t refused = listener_.refused(); refused > 0) {
      note += (note.empty() ? "" : "; ") + std::to_string(refused) + " routes or neighbours found no room in the table";
    }
  }
  if (!note.empty()) answer["note"] = note;
  return answer;
}

nlohmann::ordered_json Ipv4Function::show_neighbours() const {
  auto list = nlohmann::ordered_json::array();
  if (subscription_ == nullptr) {
    for (const auto& [address, port, mac] : fib_.neighbours()) {
      list.push_back({{"address", to_string(address)}, {"port", port}, {"mac", to_string(mac)}});
    }
    return list;
  }
  for (const FeedNeighbour& neighbour : subscription_->neighbours()) {
    const std::string address = std::visit([](auto known) { return to_string(known); }, neighbour.address);
    list.push_back({{"address", address},
                    {"port", ports_[neighbour.port].name},
                    {"mac", neighbour.mac ? nlohmann::ordered_json(to_string(*neighbour.mac)) : nullptr},
                    {"state", neighbour.state}});
  }
  return list;
}

nlohmann::ordered_json Ipv4Function::show_sources() const {
  auto list = nlohmann::ordered_json::array();
  if (subscription_ == nullptr) return list;
  for (const FeedSource& source : subscription_->sources()) {
    nlohmann::ordered_json row{{"source", source.name}, {"problem", source.problem}};
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

}  // namespace penumbra::ipv4
