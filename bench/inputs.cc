// SPDX-License-Identifier: Apache-2.0
#include "inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <tuple>
#include <unordered_set>

#include "control/route_generator.h"
#include "rivals/rte_fib.h"

namespace penumbra::bench {
namespace {

/// Shorter prefixes first; of routes to the same prefix only the one with the lowest metric.
void keep_best(std::vector<control::Route>& routes) {
  std::sort(routes.begin(), routes.end(), [](const control::Route& a, const control::Route& b) {
    return std::tie(a.prefix.length, a.prefix.address, a.metric) <
           std::tie(b.prefix.length, b.prefix.address, b.metric);
  });
  const auto same = [](const control::Route& a, const control::Route& b) { return a.prefix == b.prefix; };
  routes.erase(std::unique(routes.begin(), routes.end(), same), routes.end());
}

std::uint32_t draw_in(Ipv4Prefix prefix, std::mt19937_64& random) {
  return prefix.address.value | (static_cast<std::uint32_t>(random()) & ~prefix.mask());
}

std::uint32_t draw_from(const InputTable& table, std::mt19937_64& random) {
  return draw_in(table.entries[random() % table.entries.size()].prefix, random);
}

}  // namespace

InputTable input_table(const Options& options) {
  InputTable table;
  control::RouteList& list = table.routes;
  if (options.routes) {
    list = control::read_routes(*options.routes, {});
    table.description = options.routes->string();
  } else {
    control::RouteGeneratorOptions generator;
    generator.seed = options.seed;
    list = control::generate_routes(generator).routes;
    table.description = fmt::format("generated, seed {}", options.seed);
  }
  if (list.routes.empty()) throw std::invalid_argument(table.description + ": no routes");
  if (list.targets.size() > RteFib::kMostNextHop) {
    throw std::invalid_argument(fmt::format("{}: {} different targets, more than a 16-bit entry holds",
                                            table.description, list.targets.size()));
  }
  keep_best(list.routes);
  for (const control::Route& route : list.routes) {
    table.entries.push_back({route.prefix, static_cast<std::uint16_t>(route.target)});
  }
  table.next_hops = static_cast<std::uint16_t>(list.targets.size());
  std::unordered_set<std::uint32_t> groups;
  for (const auto& entry : table.entries) {
    if (entry.prefix.length > 24) groups.insert(entry.prefix.address.value >> 8);
  }
  table.groups = static_cast<std::uint32_t>(groups.size());
  table.description = fmt::format("{} prefixes ({}), {} targets, {} /24s with longer prefixes", table.entries.size(),
                                  table.description, list.targets.size(), table.groups);
  return table;
}

InputAddresses uniform_addresses(std::size_t count, std::uint64_t seed) {
  InputAddresses result{"uniform", fmt::format("{} addresses, uniform over all, seed {}", count, seed), {}};
  std::mt19937_64 random(seed);
  result.addresses.resize(count);
  for (std::uint32_t& address : result.addresses) address = static_cast<std::uint32_t>(random());
  return result;
}

InputAddresses prefix_addresses(const InputTable& table, std::size_t count, std::uint64_t seed) {
  InputAddresses result{"prefixes", fmt::format("{} addresses, uniform over the prefixes, seed {}", count, seed), {}};
  std::mt19937_64 random(seed);
  result.addresses.resize(count);
  for (std::uint32_t& address : result.addresses) address = draw_from(table, random);
  return result;
}

InputAddresses trace_addresses(const InputTable& table, std::size_t count, std::uint32_t flows, double exponent,
                               std::uint64_t seed) {
  InputAddresses result{
      "trace",
      fmt::format("{} addresses, Zipf over {} flows with exponent {}, seed {}", count, flows, exponent, seed),
      {}};
  std::mt19937_64 random(seed);
  std::vector<std::uint32_t> destinations(flows);
  for (std::uint32_t& destination : destinations) destination = draw_from(table, random);
  std::vector<double> share(flows);  // cumulated
  double sum = 0;
  for (std::uint32_t k = 0; k < flows; ++k) share[k] = sum += std::pow(k + 1, -exponent);
  std::uniform_real_distribution<double> draw(0, sum);
  result.addresses.resize(count);
  for (std::uint32_t& address : result.addresses) {
    const auto flow = std::upper_bound(share.begin(), share.end(), draw(random)) - share.begin();
    address = destinations[std::min<std::size_t>(static_cast<std::size_t>(flow), flows - 1)];
  }
  return result;
}

Oracle::Oracle(std::span<const Dir24_8::Entry> entries) {
  for (const Dir24_8::Entry& entry : entries) insert(entry);
}

void Oracle::insert(Dir24_8::Entry entry) {
  std::uint32_t at = 0;
  for (unsigned depth = 0; depth < entry.prefix.length; ++depth) {
    const unsigned bit = entry.prefix.address.value >> (31 - depth) & 1;
    if (nodes_[at].child[bit] == 0) {
      nodes_[at].child[bit] = static_cast<std::uint32_t>(nodes_.size());
      nodes_.emplace_back();
    }
    at = nodes_[at].child[bit];
  }
  nodes_[at].next_hop = entry.next_hop;
}

std::uint16_t Oracle::match(std::uint32_t address) const {
  std::uint16_t best = nodes_[0].next_hop;
  std::uint32_t at = 0;
  for (unsigned depth = 0; depth < 32; ++depth) {
    at = nodes_[at].child[address >> (31 - depth) & 1];
    if (at == 0) break;
    if (nodes_[at].next_hop != Dir24_8::kNoRoute) best = nodes_[at].next_hop;
  }
  return best;
}

std::vector<std::uint16_t> Oracle::match(std::span<const std::uint32_t> addresses) const {
  std::vector<std::uint64_t> order(addresses.size());  // address, then position
  for (std::size_t i = 0; i < addresses.size(); ++i) order[i] = std::uint64_t{addresses[i]} << 32 | i;
  std::sort(order.begin(), order.end());
  std::vector<std::uint16_t> next_hops(addresses.size());
  for (const std::uint64_t entry : order) {
    next_hops[static_cast<std::uint32_t>(entry)] = match(static_cast<std::uint32_t>(entry >> 32));
  }
  return next_hops;
}

}  // namespace penumbra::bench
