// SPDX-License-Identifier: Apache-2.0
#include "control/route_generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace penumbra::control {
namespace {

std::string routes_text(const GeneratedTable& table) {
  std::ostringstream text;
  write_routes(text, table.routes);
  return text.str();
}

std::string neighbours_text(const GeneratedTable& table) {
  std::ostringstream text;
  write_neighbours(text, table.neighbours);
  return text.str();
}

/// Returns the 64-bit FNV-1a hash.
std::uint64_t digest(const std::string& text) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3U;
  return hash;
}

TEST(RouteGenerator, TheSameOptionsGiveTheSameTableEverywhere) {
  const GeneratedTable table = generate_routes({.prefixes = 10'000});
  EXPECT_EQ(routes_text(table), routes_text(generate_routes({.prefixes = 10'000})));
  EXPECT_NE(routes_text(table), routes_text(generate_routes({.prefixes = 10'000, .seed = 2})));
  // The digests come from another machine. A difference means that tables are no longer comparable between versions.
  EXPECT_EQ(digest(routes_text(table)), 16379023633730849256U);
  EXPECT_EQ(digest(neighbours_text(table)), 17489389194458259972U);
}

struct Size {
  std::uint32_t prefixes;
  std::uint32_t next_hops;
  std::size_t ports;
};
class RouteGeneratorSizes : public ::testing::TestWithParam<Size> {};

TEST_P(RouteGeneratorSizes, GivesExactlyWhatWasAskedFor) {
  const auto [prefixes, next_hops, ports] = GetParam();
  RouteGeneratorOptions options{.prefixes = prefixes, .next_hops = next_hops, .ports = {}};
  for (std::size_t i = 0; i < ports; ++i) options.ports.push_back("p" + std::to_string(i));
  const GeneratedTable table = generate_routes(options);

  const auto& routes = table.routes.routes;
  ASSERT_EQ(routes.size(), prefixes);
  const auto before = [](const Route& a, const Route& b) { return a.prefix < b.prefix; };
  EXPECT_TRUE(std::is_sorted(routes.begin(), routes.end(), before));
  const auto equal = [](const Route& a, const Route& b) { return a.prefix == b.prefix; };
  EXPECT_EQ(std::adjacent_find(routes.begin(), routes.end(), equal), routes.end());

  const Ipv4Prefix gateways{{0xC6120000}, 15};
  const std::vector<Ipv4Prefix> never{{{0}, 8},           {{0x0A000000}, 8},  {{0x7F000000}, 8},
                                      {{0x64400000}, 10}, {{0xA9FE0000}, 16}, {{0xAC100000}, 12},
                                      {{0xC0A80000}, 16}, {{0xE0000000}, 3},  gateways};
  for (const auto& route : routes) {
    ASSERT_EQ(route.prefix.address.value & ~route.prefix.mask(), 0U);
    for (const auto& space : never) {
      ASSERT_FALSE(space.contains(route.prefix.address) || route.prefix.contains(space.address))
          << to_string(route.prefix);
    }
  }

  // Every gateway has one neighbour entry and its own address in its port's network. Each has routes if there are
  // enough.
  ASSERT_EQ(table.neighbours.size(), next_hops);
  std::set<std::pair<Ipv4Address, std::string>> known;
  std::set<Ipv4Address> addresses;
  std::set<MacAddress> macs;
  for (const auto& neighbour : table.neighbours) {
    known.emplace(neighbour.address, neighbour.port);
    addresses.insert(neighbour.address);
    macs.insert(neighbour.mac);
    EXPECT_TRUE(gateways.contains(neighbour.address));
  }
  EXPECT_EQ(addresses.size(), next_hops);
  EXPECT_EQ(macs.size(), next_hops);
  std::set<std::pair<Ipv4Address, std::string>> used;
  for (const auto& target : table.routes.targets) {
    for (const auto& hop : target.next_hops) used.emplace(hop.gateway.value_or(Ipv4Address{}), hop.port);
  }
  EXPECT_TRUE(std::includes(known.begin(), known.end(), used.begin(), used.end()));
  if (prefixes >= next_hops) {
    EXPECT_EQ(used, known);
  }

  // The written table reads back as the same.
  const RouteList back = parse_routes(routes_text(table), "table", options.ports);
  EXPECT_EQ(back.targets, table.routes.targets);
  const auto same = [](const Route& a, const Route& b) {
    return std::tie(a.prefix, a.metric, a.target) == std::tie(b.prefix, b.metric, b.target);
  };
  EXPECT_TRUE(std::equal(back.routes.begin(), back.routes.end(), routes.begin(), routes.end(), same));
  EXPECT_EQ(parse_neighbours(neighbours_text(table), "table", options.ports).size(), next_hops);
}

INSTANTIATE_TEST_SUITE_P(Sizes, RouteGeneratorSizes,
                         ::testing::Values(Size{1, 1, 1}, Size{2, 5, 3}, Size{1000, 1000, 1},
                                           Size{50'000, 30'000, 1024}, Size{400'000, 30, 4}));

TEST(RouteGenerator, LooksLikeTheInternet) {
  const GeneratedTable table = generate_routes({.prefixes = 300'000});
  std::array<std::size_t, 33> lengths{};
  std::map<RouteTarget::Kind, std::size_t> kinds;
  std::size_t multipath = 0;
  std::size_t inside = 0;
  std::vector<Ipv4Prefix> around;
  for (const auto& route : table.routes.routes) {
    ++lengths[route.prefix.length];
    const auto& target = table.routes.targets[route.target];
    ++kinds[target.kind];
    if (target.next_hops.size() > 1) ++multipath;
    while (!around.empty() && !around.back().contains(route.prefix.address)) around.pop_back();
    if (!around.empty()) ++inside;
    around.push_back(route.prefix);
  }
  const auto share = [&table](std::size_t count) {
    return static_cast<double>(count) / static_cast<double>(table.routes.routes.size());
  };
  EXPECT_NEAR(share(lengths[24]), 0.596, 0.001);
  EXPECT_NEAR(share(lengths[22]), 0.120, 0.001);
  EXPECT_NEAR(share(lengths[16]), 0.015, 0.001);
  std::size_t longer = 0;
  for (std::size_t length = 25; length <= 32; ++length) longer += lengths[length];
  EXPECT_NEAR(share(longer), 0.001, 0.0002);
  EXPECT_NEAR(share(inside), 0.5, 0.15);
  EXPECT_NEAR(share(multipath), 0.01, 0.002);
  EXPECT_NEAR(share(kinds[RouteTarget::Kind::blackhole]), 0.0005, 0.0002);
  EXPECT_NEAR(share(kinds[RouteTarget::Kind::unreachable]), 0.0005, 0.0002);
}

TEST(RouteGenerator, MakesIpv6Tables) {
  const auto text = [](const GeneratedTableOf<Ipv6>& table) {
    std::ostringstream out;
    write_routes(out, table.routes);
    return out.str();
  };
  const RouteGeneratorOptions options{.prefixes = 150'000, .next_hops = 300, .ports = {"a", "b", "c"}};
  const auto table = generate_routes<Ipv6>(options);
  EXPECT_EQ(text(table), text(generate_routes<Ipv6>(options)));
  const auto& routes = table.routes.routes;
  ASSERT_EQ(routes.size(), 150'000U);
  const Ipv6Prefix global{{0x2000000000000000, 0}, 3}, gateways{{0x2001000200000000, 0}, 48},
      documentation{{0x20010DB800000000, 0}, 32};
  std::array<double, 129> shares{};
  std::size_t inside = 0, followed = 0;
  std::vector<Ipv6Prefix> around;
  const auto follows = [](Ipv6Prefix one, Ipv6Prefix other) {
    const Ipv6Address last = one.last();
    return one.length == other.length &&
           Ipv6Address{last.high + (last.low + 1 == 0 ? 1 : 0), last.low + 1} == other.address;
  };
  std::array<Ipv6Prefix, 129> latest{};
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const Ipv6Prefix prefix = routes[i].prefix;
    ASSERT_TRUE(i == 0 || routes[i - 1].prefix < prefix);
    ASSERT_EQ(prefix, Ipv6Prefix::around(prefix.address, prefix.length));
    ASSERT_TRUE(global.contains(prefix.address));
    for (const Ipv6Prefix space : {gateways, documentation}) {
      ASSERT_FALSE(space.contains(prefix.address) || prefix.contains(space.address)) << to_string(prefix);
    }
    shares[prefix.length] += 1.0 / static_cast<double>(routes.size());
    while (!around.empty() && !around.back().contains(prefix.address)) around.pop_back();
    if (!around.empty()) ++inside;
    around.push_back(prefix);
    if (follows(std::exchange(latest[prefix.length], prefix), prefix)) ++followed;
  }
  EXPECT_NEAR(shares[48], 0.471, 0.005);
  EXPECT_NEAR(shares[32], 0.141, 0.005);
  EXPECT_NEAR(shares[29], 0.027, 0.003);
  EXPECT_NEAR(shares[128], 0.0005, 0.0001);
  EXPECT_NEAR(static_cast<double>(inside) / 150'000, 0.57, 0.15);
  EXPECT_NEAR(static_cast<double>(followed) / 150'000, 0.55, 0.15);
  ASSERT_EQ(table.neighbours.size(), 300U);
  std::set<Ipv6Address> addresses;
  for (std::size_t i = 0; i < 300; ++i) {
    const auto& neighbour = table.neighbours[i];
    EXPECT_EQ(neighbour.port, options.ports[i % 3]);
    EXPECT_EQ(neighbour.address.high, 0x2001000200000000U + i % 3);
    EXPECT_GT(neighbour.address.low, 1U) << "the router's";
    addresses.insert(neighbour.address);
  }
  EXPECT_EQ(addresses.size(), 300U);
  EXPECT_EQ(parse_routes<Ipv6>(text(table), "table", options.ports).targets, table.routes.targets);
  EXPECT_EQ(generate_routes<Ipv6>({.prefixes = 1}).routes.routes.size(), 1U);
  EXPECT_EQ(generate_routes<Ipv6>({.prefixes = 1'000'000}).routes.routes.size(), 1'000'000U);
  EXPECT_THROW(generate_routes<Ipv6>({.prefixes = 1'000'001}), std::invalid_argument);
}

TEST(RouteGenerator, SharesMayBeNothingOrAll) {
  const auto none =
      generate_routes({.prefixes = 5000, .multipath_share = 0, .blackhole_share = 0, .unreachable_share = 0});
  for (const auto& target : none.routes.targets) EXPECT_EQ(target.next_hops.size(), 1U);
  const auto all = generate_routes({.prefixes = 5000, .next_hops = 1, .blackhole_share = 1});
  std::size_t unicast = 0;
  for (const auto& route : all.routes.routes) {
    if (all.routes.targets[route.target].kind == RouteTarget::Kind::unicast) ++unicast;
  }
  EXPECT_EQ(unicast, 1U);  // The only gateway must have one route.
}

TEST(RouteGenerator, RefusesWhatItCannotMake) {
  const std::vector<std::string> too_many(1025, "p");
  EXPECT_THROW(generate_routes({.prefixes = 0}), std::invalid_argument);
  EXPECT_THROW(generate_routes({.prefixes = 4'000'001}), std::invalid_argument);
  EXPECT_THROW(generate_routes({.prefixes = 1, .next_hops = 0}), std::invalid_argument);
  EXPECT_THROW(generate_routes({.prefixes = 1, .next_hops = 30'001}), std::invalid_argument);
  EXPECT_THROW(generate_routes({.prefixes = 1, .ports = {}}), std::invalid_argument);
  EXPECT_THROW(generate_routes({.prefixes = 1, .ports = {"a", "a"}}), std::invalid_argument);
  EXPECT_THROW(generate_routes({.prefixes = 1, .ports = too_many}), std::invalid_argument);
  EXPECT_THROW(generate_routes({.prefixes = 1, .blackhole_share = 1.5}), std::invalid_argument);
}

}  // namespace
}  // namespace penumbra::control
