// SPDX-License-Identifier: Apache-2.0
#include "inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>
#include <stdexcept>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "base/sanitizer_scale.h"
#include "control/route_generator.h"
#include "rivals/rte_fib.h"

namespace penumbra::bench {
namespace {

std::uint32_t draw_in(Ipv4Prefix prefix, std::mt19937_64& random) {
  return prefix.address.value | (static_cast<std::uint32_t>(random()) & ~prefix.mask());
}
ipv6_address draw_in(Ipv6Prefix prefix, std::mt19937_64& random) {
  const Ipv6Address mask = prefix.mask();
  const std::uint64_t high = random() & ~mask.high;
  return {prefix.address.high | high, prefix.address.low | (random() & ~mask.low)};
}

template <class Family>
ColumnOf<Family> draw_from(const InputTableOf<Family>& table, std::mt19937_64& random) {
  return draw_in(table.entries[random() % table.entries.size()].prefix, random);
}

/// Sorts shorter prefixes first; of routes to the same prefix only that with the lowest metric remains.
template <class Route>
void keep_best(std::vector<Route>& routes) {
  std::ranges::sort(routes, [](const Route& a, const Route& b) {
    return std::tie(a.prefix.length, a.prefix.address, a.metric) <
           std::tie(b.prefix.length, b.prefix.address, b.metric);
  });
  const auto same = [](const Route& a, const Route& b) { return a.prefix == b.prefix; };
  routes.erase(std::unique(routes.begin(), routes.end(), same), routes.end());
}

/// Moves the routes into `table`. `name` describes them in errors.
template <class Family>
void take_routes(InputTableOf<Family>& table, control::RouteListOf<Family> routes, const std::string& name) {
  if (routes.routes.empty()) throw std::invalid_argument(name + ": no routes");
  if (routes.targets.size() > RteFib::kMostNextHop) {
    throw std::invalid_argument(
        fmt::format("{}: {} different targets, more than a 16-bit entry holds", name, routes.targets.size()));
  }
  keep_best(routes.routes);
  for (const auto& route : routes.routes) {
    table.entries.push_back({route.prefix, static_cast<std::uint16_t>(route.target)});
  }
  table.next_hops = static_cast<std::uint16_t>(routes.targets.size());
  table.description = fmt::format("{} prefixes ({}), {} targets", table.entries.size(), name, routes.targets.size());
  table.routes = std::move(routes);
}

std::string generated(const Options& options) {
  return fmt::format("generated, seed {}", options.seed);
}

/// Share of each prefix length from /28 on, in a thousand IPv6 prefixes of a full table of 2025. The source is the test
/// data of the Go package github.com/gaissmai/bart. The few shorter prefixes count as /28.
constexpr std::array<std::uint16_t, 21> kIpv6LengthWeights{2, 27, 4, 2,  141, 18, 16, 7,  37, 5,  10,
                                                           9, 84, 6, 14, 6,   90, 10, 19, 20, 473};
constexpr unsigned kIpv6Shortest = 28;
constexpr std::uint32_t kIpv6Prefixes = 235'000 / kSanitizerScale, kIpv6Targets = 30;
constexpr double kIpv6RunShare = 0.5;  ///< Share of prefixes that are followed by another one of the same length.

/// Allocations to the registries: a /12 each, and 2001::/16.
constexpr std::array<Ipv6Prefix, 6> kRegistries{{{{0x2400'0000'0000'0000, 0}, 12},
                                                 {{0x2600'0000'0000'0000, 0}, 12},
                                                 {{0x2800'0000'0000'0000, 0}, 12},
                                                 {{0x2A00'0000'0000'0000, 0}, 12},
                                                 {{0x2C00'0000'0000'0000, 0}, 12},
                                                 {{0x2001'0000'0000'0000, 0}, 16}}};

/// Generates networks inside the registries' blocks. Most longer prefixes are inside shorter ones, with a skewed
/// distribution.
control::RouteListOf<Ipv6> generate_ipv6_routes(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  control::RouteListOf<Ipv6> list;
  for (std::uint32_t target = 0; target < kIpv6Targets; ++target) {
    list.targets.push_back(
        {.next_hops = {{.gateway = Ipv6Address{0xFE80'0000'0000'0000, target + 1}, .port = "port0"}}});
  }
  std::set<Ipv6Prefix> taken;
  std::vector<Ipv6Prefix> networks;
  std::discrete_distribution<unsigned> any_length(kIpv6LengthWeights.begin(), kIpv6LengthWeights.end());
  std::bernoulli_distribution goes_on(kIpv6RunShare);
  std::uniform_real_distribution<double> share;
  while (taken.size() < kIpv6Prefixes) {
    const unsigned length = kIpv6Shortest + any_length(random);
    const bool is_network = length <= 32 || networks.empty();
    const double at = share(random);  // Raised to the fourth power below, so that the first networks get most prefixes.
    const Ipv6Prefix around =
        is_network ? kRegistries[random() % kRegistries.size()]
                   : networks[static_cast<std::size_t>(at * at * at * at * static_cast<double>(networks.size()))];
    const ipv6_address drawn = draw_in(around, random);
    Ipv6Prefix prefix = Ipv6Prefix::around({drawn.high, drawn.low}, std::max<unsigned>(length, around.length));
    while (taken.size() < kIpv6Prefixes && around.contains(prefix.address) && taken.insert(prefix).second) {
      list.routes.push_back({prefix, 0, static_cast<std::uint32_t>(random() % kIpv6Targets)});
      if (is_network) networks.push_back(prefix);
      if (!goes_on(random)) break;
      prefix.address.high += std::uint64_t{1} << (64 - prefix.length);
    }
  }
  return list;
}

}  // namespace

InputTable input_table(const Options& options) {
  InputTable table;
  if (options.routes) {
    take_routes<Ipv4>(table, control::read_routes(*options.routes, {}), options.routes->string());
  } else {
    control::RouteGeneratorOptions generator;
    generator.seed = options.seed;
    take_routes<Ipv4>(table, control::generate_routes(generator).routes, generated(options));
  }
  std::unordered_set<std::uint32_t> groups;
  for (const auto& entry : table.entries) {
    if (entry.prefix.length > 24) groups.insert(entry.prefix.address.value >> 8);
  }
  table.groups = static_cast<std::uint32_t>(groups.size());
  table.description += fmt::format(", {} /24s with longer prefixes", table.groups);
  return table;
}

Ipv6InputTable ipv6_input_table(const Options& options) {
  Ipv6InputTable table;
  if (options.routes) {
    take_routes<Ipv6>(table, control::read_routes<Ipv6>(*options.routes, {}), options.routes->string());
  } else {
    take_routes<Ipv6>(table, generate_ipv6_routes(options.seed), generated(options));
  }
  return table;
}

InputAddresses uniform_addresses(std::size_t count, std::uint64_t seed) {
  InputAddresses result{"uniform", fmt::format("{} addresses, uniform over all, seed {}", count, seed), {}};
  std::mt19937_64 random(seed);
  result.addresses.resize(count);
  for (std::uint32_t& address : result.addresses) address = static_cast<std::uint32_t>(random());
  return result;
}

template <class Family>
InputAddressesOf<Family> prefix_addresses(const InputTableOf<Family>& table, std::size_t count, std::uint64_t seed) {
  InputAddressesOf<Family> result{
      "prefixes", fmt::format("{} addresses, uniform over the prefixes, seed {}", count, seed), {}};
  std::mt19937_64 random(seed);
  result.addresses.resize(count);
  for (auto& address : result.addresses) address = draw_from(table, random);
  return result;
}
template InputAddresses prefix_addresses(const InputTableOf<Ipv4>&, std::size_t, std::uint64_t);
template InputAddressesOf<Ipv6> prefix_addresses(const Ipv6InputTable&, std::size_t, std::uint64_t);

template <class Family>
InputAddressesOf<Family> trace_addresses(const InputTableOf<Family>& table, std::size_t count, std::uint32_t flows,
                                         double exponent, std::uint64_t seed) {
  InputAddressesOf<Family> result{
      "trace",
      fmt::format("{} addresses, Zipf over {} flows with exponent {}, seed {}", count, flows, exponent, seed),
      {}};
  std::mt19937_64 random(seed);
  std::vector<ColumnOf<Family>> destinations(flows);
  for (auto& destination : destinations) destination = draw_from(table, random);
  std::vector<double> share(flows);  // Cumulative.
  double sum = 0;
  for (std::uint32_t k = 0; k < flows; ++k) share[k] = sum += std::pow(k + 1, -exponent);
  std::uniform_real_distribution<double> draw(0, sum);
  result.addresses.resize(count);
  for (auto& address : result.addresses) {
    const auto flow = std::upper_bound(share.begin(), share.end(), draw(random)) - share.begin();
    address = destinations[std::min<std::size_t>(static_cast<std::size_t>(flow), flows - 1)];
  }
  return result;
}
template InputAddresses trace_addresses(const InputTableOf<Ipv4>&, std::size_t, std::uint32_t, double, std::uint64_t);
template InputAddressesOf<Ipv6> trace_addresses(const Ipv6InputTable&, std::size_t, std::uint32_t, double,
                                                std::uint64_t);

template <class Family>
std::vector<std::uint16_t> next_hops(const OracleOf<Family>& oracle, std::span<const ColumnOf<Family>> addresses) {
  std::vector<std::pair<typename Family::Address, std::uint32_t>> order(
      addresses.size());  // Pairs of address and position.
  for (std::uint32_t i = 0; i < addresses.size(); ++i) order[i] = {address_of(addresses[i]), i};
  std::sort(order.begin(), order.end());
  std::vector<std::uint16_t> found(addresses.size());
  for (const auto& [address, position] : order) found[position] = oracle.next_hop(address);
  return found;
}
template std::vector<std::uint16_t> next_hops(const OracleOf<Ipv4>&, std::span<const std::uint32_t>);
template std::vector<std::uint16_t> next_hops(const OracleOf<Ipv6>&, std::span<const ipv6_address>);

}  // namespace penumbra::bench
