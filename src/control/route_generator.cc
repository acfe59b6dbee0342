// SPDX-License-Identifier: Apache-2.0
#include "control/route_generator.h"

#include <algorithm>
#include <bit>
#include <set>
#include <stdexcept>

#include "base/random.h"
#include "control/prefix_generator.h"

namespace penumbra::control {
namespace {

/// Returns gateway `number` (from 0) of port `index` out of `ports` ports.
template <class Address>
Address gateway(std::uint32_t ports, std::uint32_t index, std::uint32_t number);
template <>
Ipv4Address gateway<Ipv4Address>(std::uint32_t ports, std::uint32_t index, std::uint32_t number) {
  const std::uint32_t network = (kIpv4Gateways.last().value - kIpv4Gateways.address.value + 1) / std::bit_ceil(ports);
  return {kIpv4Gateways.address.value + index * network + 2 + number};
}
template <>
Ipv6Address gateway<Ipv6Address>(std::uint32_t /*ports*/, std::uint32_t index, std::uint32_t number) {
  return {kIpv6Gateways.address.high + index, std::uint64_t{2} + number};
}

template <class Family>
class TableMaker {
 public:
  explicit TableMaker(const RouteGeneratorOptions& options) : options_(options), random_(options.seed) {}

  GeneratedTableOf<Family> make() {
    make_neighbours();
    make_targets();
    auto prefixes = generate_prefixes<Family>(random_, options_.prefixes);
    std::sort(prefixes.begin(), prefixes.end());
    auto& routes = table_.routes.routes;
    routes.reserve(prefixes.size());
    // Every turn-th route takes the next gateway in order, so that each gateway is used if there are enough routes.
    const std::size_t turn = std::max<std::size_t>(1, prefixes.size() / options_.next_hops);
    for (std::size_t i = 0; i < prefixes.size(); ++i) {
      const auto target = i % turn == 0 ? static_cast<std::uint32_t>(i / turn % options_.next_hops) : pick_target();
      const std::uint32_t metric = chance(random_, kMetricShare) ? 1 + random_.below(1000) : 0;
      routes.push_back({prefixes[i], metric, use(target)});
    }
    return std::move(table_);
  }

 private:
  static constexpr double kMetricShare = 0.005;
  static constexpr std::uint32_t kMultipaths = 64;
  static constexpr std::uint32_t kUnused = ~std::uint32_t{0};

  void make_neighbours() {
    const auto ports = static_cast<std::uint32_t>(options_.ports.size());
    table_.neighbours.reserve(options_.next_hops);
    for (std::uint32_t i = 0; i < options_.next_hops; ++i) {
      const std::uint32_t port = i % ports;
      const auto address = gateway<typename Family::Address>(ports, port, i / ports);
      table_.neighbours.push_back({address, options_.ports[port], MacAddress{0x020000010000U + i}});
    }
  }

  /// Fills targets_: each gateway alone, then blackhole and unreachable, then the multipath targets.
  void make_targets() {
    targets_.reserve(options_.next_hops + 2 + kMultipaths);
    for (std::uint32_t i = 0; i < options_.next_hops; ++i) {
      targets_.push_back({RouteKind::unicast, {next_hop(i)}});
    }
    targets_.push_back({RouteKind::blackhole, {}});
    targets_.push_back({RouteKind::unreachable, {}});
    first_multipath_ = targets_.size();
    for (std::uint32_t i = 0; i < kMultipaths && options_.next_hops > 1; ++i) {
      RouteTargetOf<Family> target;
      const std::uint32_t hops = std::min(2 + random_.below(3), options_.next_hops);
      const std::uint32_t first = random_.below(options_.next_hops);
      for (std::uint32_t hop = 0; hop < hops; ++hop) {
        target.next_hops.push_back(next_hop((first + hop) % options_.next_hops));
        target.next_hops.back().weight = static_cast<std::uint16_t>(1 + random_.below(4));
      }
      if (std::find(targets_.begin(), targets_.end(), target) == targets_.end()) targets_.push_back(std::move(target));
    }
    numbers_.assign(targets_.size(), kUnused);
  }

  NextHopOf<Family> next_hop(std::uint32_t gateway) const {
    return {.gateway = table_.neighbours[gateway].address, .port = table_.neighbours[gateway].port};
  }

  std::uint32_t pick_target() {
    const std::size_t multipaths = targets_.size() - first_multipath_;
    if (chance(random_, options_.blackhole_share)) return options_.next_hops;
    if (chance(random_, options_.unreachable_share)) return options_.next_hops + 1;
    if (multipaths > 0 && chance(random_, options_.multipath_share)) {
      return static_cast<std::uint32_t>(first_multipath_) + random_.below(static_cast<std::uint32_t>(multipaths));
    }
    // The first gateways carry most routes, as transit providers do.
    return random_.below(random_.below(options_.next_hops) + 1);
  }

  /// Returns the index of a target in the table. Adds the target at its first use.
  std::uint32_t use(std::uint32_t target) {
    if (numbers_[target] == kUnused) {
      numbers_[target] = static_cast<std::uint32_t>(table_.routes.targets.size());
      table_.routes.targets.push_back(targets_[target]);
    }
    return numbers_[target];
  }

  const RouteGeneratorOptions& options_;
  Random random_;
  GeneratedTableOf<Family> table_;
  std::vector<RouteTargetOf<Family>> targets_;
  std::size_t first_multipath_ = 0;
  std::vector<std::uint32_t> numbers_;  ///< Index in the table of each element of targets_, or kUnused.
};

void check(const RouteGeneratorOptions& options, std::uint32_t most_prefixes) {
  using Options = RouteGeneratorOptions;
  const auto require = [](bool holds, const std::string& what) {
    if (!holds) throw std::invalid_argument(what);
  };
  const auto between = [&require](const std::string& what, std::size_t value, std::size_t most) {
    require(value >= 1 && value <= most,
            what + " must be from 1 to " + std::to_string(most) + ", not " + std::to_string(value));
  };
  between("the number of prefixes", options.prefixes, most_prefixes);
  between("the number of next hops", options.next_hops, Options::kMaxNextHops);
  between("the number of ports", options.ports.size(), Options::kMaxPorts);
  const std::set<std::string> names(options.ports.begin(), options.ports.end());
  require(names.size() == options.ports.size(), "two ports have the same name");
  for (const double share : {options.multipath_share, options.blackhole_share, options.unreachable_share}) {
    require(share >= 0 && share <= 1, "a share must be from 0 to 1");
  }
}

}  // namespace

template <class Family>
GeneratedTableOf<Family> generate_routes(const RouteGeneratorOptions& options) {
  constexpr bool kSix = Family::kBits == Ipv6::kBits;
  check(options, kSix ? RouteGeneratorOptions::kMaxIpv6Prefixes : RouteGeneratorOptions::kMaxPrefixes);
  return TableMaker<Family>(options).make();
}

template GeneratedTableOf<Ipv4> generate_routes(const RouteGeneratorOptions& options);
template GeneratedTableOf<Ipv6> generate_routes(const RouteGeneratorOptions& options);

}  // namespace penumbra::control
