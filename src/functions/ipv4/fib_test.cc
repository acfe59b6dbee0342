// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <stdexcept>

#include "base/sanitizer_scale.h"
#include "functions/ipv4/ipv4.h"
#include "functions/ipv4/testing.h"
#include "tables/dir24_8/dir24_8.shader.h"

namespace penumbra::ipv4 {
namespace {

using namespace testing_support;

std::string target_of(const Ipv4Fib::Row& row) {
  if (row.type == "unicast") return control::to_string({.next_hops = row.next_hops});
  return std::string(row.type) + (row.next_hops.empty() ? "" : " dev " + row.next_hops[0].port);
}

PortInfo removed_port(std::uint16_t index) {
  PortInfo port;
  port.index = index;
  port.removed = true;
  return port;
}

class FibTest : public testing::Test {
 protected:
  const NextHopSlot& slot(Ipv4Fib& fib, Ipv4Address address, std::uint32_t hash = 0) {
    std::uint16_t set = 0;
    dir24_8_lookup(*static_cast<const dir24_8_view*>(fib.table().view()), &address.value, &set, 1);
    return fib.next_hops().slot(set, [hash] { return hash; });
  }
  std::string where(const std::string& address) {
    const auto answer = fib_.lookup(ip(address));
    return answer ? to_string(answer->prefix) + " " + answer->target : "unreachable";
  }
  void set_neighbour(const std::string& address, const std::string& port, std::uint64_t mac) {
    fib_.set_neighbour({.address = ip(address), .port = port, .mac = {mac}});
  }

  NoReaders no_readers_;
  std::vector<PortInfo> ports_ = router_ports();
  Ipv4Fib fib_{ports_, no_readers_};
};

TEST_F(FibTest, KnowsThePortsNetworksAndAddresses) {
  EXPECT_EQ(where("10.0.0.1"), "10.0.0.1/32 local dev lan");
  EXPECT_EQ(where("10.0.0.0"), "10.0.0.0/32 broadcast dev lan");
  EXPECT_EQ(where("10.0.255.255"), "10.0.255.255/32 broadcast dev lan");
  EXPECT_EQ(where("10.0.0.2"), "10.0.0.0/16 dev lan");
  EXPECT_EQ(where("10.9.0.0"), "10.9.0.0/31 dev lan");
  EXPECT_EQ(where("10.1.0.0"), "unreachable");
  EXPECT_EQ(fib_.describe(Dir24_8::kNoRoute), "unreachable");
}

TEST_F(FibTest, TheLowestMetricCountsAndTheNextTakesOver) {
  const Ipv4Prefix prefix = net("20.0.0.0/8");
  fib_.add_route(prefix, 20, via("192.0.2.20", "wan"));
  fib_.add_route(prefix, 10, via("192.0.2.10", "wan"));
  fib_.add_route(prefix, 0, kBlackhole);
  fib_.add_route(prefix, 30, kUnreachable);
  EXPECT_EQ(where("20.1.1.1"), "20.0.0.0/8 blackhole");
  EXPECT_THROW(fib_.add_route(prefix, 10, kBlackhole), std::invalid_argument);
  EXPECT_THROW(fib_.add_route(prefix, 0, kUnreachable), std::invalid_argument);
  fib_.replace_route(prefix, 10, via("192.0.2.11", "wan"));
  EXPECT_TRUE(fib_.remove_route(prefix, 0));
  EXPECT_FALSE(fib_.remove_route(prefix, 0));
  EXPECT_EQ(where("20.1.1.1"), "20.0.0.0/8 via 192.0.2.11 dev wan");
  EXPECT_TRUE(fib_.remove_route(prefix, 20));
  EXPECT_TRUE(fib_.remove_route(prefix, 10));
  EXPECT_EQ(where("20.1.1.1"), "20.0.0.0/8 unreachable");
  EXPECT_TRUE(fib_.remove_route(prefix, 30));
  EXPECT_EQ(where("20.1.1.1"), "unreachable");
  EXPECT_TRUE(fib_.rows(prefix).empty());
}

TEST_F(FibTest, TakesOverOtherPortsAndAddresses) {
  set_neighbour("10.0.0.7", "lan", 0x020000000007);
  fib_.add_route(net("10.0.0.0/16"), 0, via("192.0.2.20", "wan"));
  fib_.add_route(net("10.7.0.0/16"), 0, via("192.0.2.20", "wan"));
  ports_[1].addresses = {{ip("10.7.0.1"), net("10.7.0.0/16")}};
  ports_[2] = removed_port(2);
  PortInfo& added = ports_.emplace_back();
  added.name = "added";
  added.index = 4;
  added.addresses = {{ip("172.20.0.1"), net("172.20.0.0/16")}};
  fib_.set_ports(ports_);
  EXPECT_EQ(where("10.7.0.1"), "10.7.0.1/32 local dev lan");
  EXPECT_EQ(where("10.7.0.2"), "10.7.0.0/16 dev lan");  // precedes the route to the same prefix
  EXPECT_EQ(where("10.0.0.1"), "10.0.0.0/16 via 192.0.2.20 dev wan");
  EXPECT_EQ(where("10.9.0.0"), "unreachable");
  EXPECT_EQ(where("172.16.0.1"), "unreachable");
  EXPECT_EQ(where("172.20.0.1"), "172.20.0.1/32 local dev added");
  EXPECT_EQ(where("172.20.255.255"), "172.20.255.255/32 broadcast dev added");
  fib_.add_route(net("99.0.0.0/8"), 0, via("172.20.0.9", "added"));
  EXPECT_EQ(where("99.1.1.1"), "99.0.0.0/8 via 172.20.0.9 dev added");
  EXPECT_THROW(fib_.add_route(net("98.0.0.0/8"), 0, via("172.16.0.2", "dmz")), std::invalid_argument);
  ports_ = router_ports();
  fib_.remove_route(net("99.0.0.0/8"), 0);
  ports_.push_back(removed_port(4));
  fib_.set_ports(ports_);
  EXPECT_EQ(where("10.0.0.7"), "10.0.0.7/32 dev lan");
  EXPECT_EQ(where("10.7.0.1"), "10.7.0.0/16 via 192.0.2.20 dev wan");
  EXPECT_EQ(where("172.20.0.1"), "unreachable");
  auto clashing = ports_;
  clashing[2].addresses = clashing[0].addresses;
  EXPECT_THROW(fib_.set_ports(clashing), std::invalid_argument);
  EXPECT_EQ(where("192.0.2.1"), "192.0.2.1/32 local dev wan");
}

TEST_F(FibTest, ConnectedNetworksComeBeforeRoutes) {
  fib_.add_route(net("10.0.0.0/16"), 0, kBlackhole);
  fib_.add_route(net("10.0.0.1/32"), 0, kBlackhole);
  EXPECT_EQ(where("10.0.5.5"), "10.0.0.0/16 dev lan");
  EXPECT_EQ(where("10.0.0.1"), "10.0.0.1/32 local dev lan");
  EXPECT_EQ(fib_.rows(net("10.0.0.0/16")).size(), 2U);
  EXPECT_TRUE(fib_.remove_route(net("10.0.0.0/16"), 0));
  EXPECT_FALSE(fib_.remove_route(net("10.0.0.0/16"), 0));
  EXPECT_EQ(where("10.0.5.5"), "10.0.0.0/16 dev lan");
}

TEST_F(FibTest, NeighboursAreAdjacenciesWhereALinkLeadsToThem) {
  set_neighbour("10.0.5.5", "lan", 0xA5);
  EXPECT_EQ(where("10.0.5.5"), "10.0.5.5/32 dev lan");
  set_neighbour("10.0.6.6", "wan", 0xA6);
  EXPECT_EQ(where("10.0.6.6"), "10.0.0.0/16 dev lan") << "another port's neighbour";
  set_neighbour("30.0.0.1", "bare", 0xA7);
  EXPECT_EQ(where("30.0.0.1"), "unreachable");
  fib_.add_route(net("30.0.0.0/8"), 0, dev("bare"));
  EXPECT_EQ(where("30.0.0.1"), "30.0.0.1/32 dev bare");
  fib_.add_route(net("30.0.0.0/24"), 0, via("192.0.2.9", "wan"));
  EXPECT_EQ(where("30.0.0.1"), "30.0.0.0/24 via 192.0.2.9 dev wan") << "a longer prefix leads elsewhere";
  fib_.remove_route(net("30.0.0.0/24"), 0);
  EXPECT_EQ(where("30.0.0.1"), "30.0.0.1/32 dev bare");
  fib_.add_route(net("30.0.0.1/32"), 5, kBlackhole);
  EXPECT_EQ(where("30.0.0.1"), "30.0.0.1/32 blackhole") << "a route of its own comes first";
  fib_.remove_route(net("30.0.0.1/32"), 5);
  EXPECT_EQ(where("30.0.0.1"), "30.0.0.1/32 dev bare");
  fib_.remove_route(net("30.0.0.0/8"), 0);
  EXPECT_EQ(where("30.0.0.1"), "unreachable");
  EXPECT_TRUE(fib_.remove_neighbour(ip("10.0.5.5"), "lan"));
  EXPECT_FALSE(fib_.remove_neighbour(ip("10.0.5.5"), "lan"));
  EXPECT_EQ(where("10.0.5.5"), "10.0.0.0/16 dev lan");
}

TEST_F(FibTest, AHostRouteWithoutGatewayLeadsToItsAddress) {
  fib_.add_route(net("10.0.0.0/24"), 0, kBlackhole);
  fib_.add_route(net("10.0.0.9/32"), 0, dev("bare"));
  EXPECT_EQ(slot(fib_, ip("10.0.0.9")).outcome, Outcome::unknown_neighbour);
  set_neighbour("10.0.0.9", "bare", 0xA9);
  EXPECT_EQ(where("10.0.0.9"), "10.0.0.9/32 dev bare");
  EXPECT_EQ(slot(fib_, ip("10.0.0.9")).outcome, Outcome::forward);
  EXPECT_EQ(slot(fib_, ip("10.0.0.9")).port, 3);
}

TEST_F(FibTest, ARouteUnderANeighbourSurvivesTheNeighbour) {
  fib_.add_route(net("10.0.5.5/32"), 0, kBlackhole);
  set_neighbour("10.0.5.5", "lan", 0xA5);
  EXPECT_EQ(where("10.0.5.5"), "10.0.5.5/32 blackhole");
  EXPECT_TRUE(fib_.remove_neighbour(ip("10.0.5.5"), "lan"));
  EXPECT_EQ(where("10.0.5.5"), "10.0.5.5/32 blackhole");
  EXPECT_TRUE(fib_.remove_route(net("10.0.5.5/32"), 0));
  EXPECT_EQ(where("10.0.5.5"), "10.0.0.0/16 dev lan");
}

/// Generates values from a small address space in which prefixes, gateways and neighbours often collide.
struct World {
  explicit World(std::uint64_t seed) : random(seed) {}
  std::uint64_t below(std::uint64_t bound) { return random() % bound; }
  Ipv4Address address() {
    return {(below(2) == 0 ? 0x0A000000U : 0x0A090000U) + static_cast<std::uint32_t>(below(4) * 64 + below(6))};
  }
  Ipv4Prefix prefix() {
    constexpr std::uint8_t kLengths[]{0, 7, 8, 16, 24, 25, 26, 29, 30, 31, 32, 32, 32};
    Ipv4Prefix result{address(), kLengths[below(std::size(kLengths))]};
    result.address.value &= result.mask();
    return result;
  }
  std::string port() { return std::vector<std::string>{"wan", "lan", "dmz", "bare"}[below(4)]; }
  control::RouteTarget target() {
    const auto kind = below(8);
    if (kind == 0) return kBlackhole;
    if (kind == 1) return kUnreachable;
    control::RouteTarget result;
    for (auto hops = kind == 2 ? 1 + below(4) : 1; hops > 0; --hops) {
      std::optional<Ipv4Address> gateway;
      if (below(2) == 0) gateway = address();
      result.next_hops.push_back(
          {.gateway = gateway, .port = port(), .weight = static_cast<std::uint16_t>(1 + below(3))});
    }
    return result;
  }
  std::mt19937_64 random;
};

class FibWorldTest : public FibTest {
 protected:
  void expect_agreement(Ipv4Fib& fib) {
    for (const std::uint32_t base : {0x0A000000U, 0x0A090000U}) {
      for (std::uint32_t i = 0; i < 264; ++i) expect_agreement(fib, {base + i});
    }
    expect_agreement(fib, ip("10.0.255.255"));
    expect_agreement(fib, ip("1.1.1.1"));
  }
  void expect_agreement(Ipv4Fib& fib, Ipv4Address address) {
    const auto wanted = network_.judge(address, 64, 100);
    for (const std::uint32_t hash : {0U, 1U, 77U, 400U}) {
      const NextHopSlot& found = slot(fib, address, hash);
      if (found.outcome == Outcome::forward) {
        const auto mac = oracle::mac(oracle::Bytes(found.addresses.begin(), found.addresses.end()), 0);
        ASSERT_TRUE(wanted.reason.empty() && wanted.next_hops.contains({found.port, mac})) << to_string(address);
      } else {
        const std::string& name = outcome_reasons()[static_cast<std::size_t>(found.outcome)].name;
        ASSERT_TRUE(name == wanted.reason || wanted.member_reasons.contains(name)) << to_string(address) << ' ' << name;
      }
    }
  }
  /// Applies one random change to the table and to the lists.
  void change(World& world) {
    const Ipv4Prefix prefix = world.prefix();
    const auto metric = static_cast<std::uint32_t>(world.below(3));
    const auto key = std::pair(prefix, metric);
    const auto target = world.target();
    const Ipv4Address address = world.address();
    const std::string port = world.port();
    switch (world.below(6)) {
      case 0:
        if (network_.routes.contains(key)) {
          EXPECT_THROW(fib_.add_route(prefix, metric, target), std::invalid_argument);
        } else {
          fib_.add_route(prefix, metric, target);
          network_.routes[key] = target;
        }
        break;
      case 1:
        fib_.replace_route(prefix, metric, target);
        network_.routes[key] = target;
        break;
      case 2:
        EXPECT_EQ(fib_.remove_route(prefix, metric), network_.routes.erase(key) == 1);
        break;
      case 3:
        if (!network_.routes.empty()) {
          const auto some =
              std::next(network_.routes.begin(), static_cast<std::ptrdiff_t>(world.below(network_.routes.size())));
          EXPECT_TRUE(fib_.remove_route(some->first.first, some->first.second));
          network_.routes.erase(some);
        }
        break;
      case 4:
        network_.neighbours[{port, address}] = {0x0B0000000000 + world.below(1000)};
        fib_.set_neighbour({.address = address, .port = port, .mac = network_.neighbours[{port, address}]});
        break;
      default:
        EXPECT_EQ(fib_.remove_neighbour(address, port), network_.neighbours.erase({port, address}) == 1);
    }
    if (world.below(10) == 0) fib_.commit();
  }
  control::RouteList as_list() const {
    control::RouteList list;
    std::map<control::RouteTarget, std::uint32_t> indices;
    for (const auto& [key, target] : network_.routes) {
      const auto [at, fresh] = indices.try_emplace(target, static_cast<std::uint32_t>(list.targets.size()));
      if (fresh) list.targets.push_back(target);
      list.routes.push_back({.prefix = key.first, .metric = key.second, .target = at->second});
    }
    return list;
  }
  std::vector<std::string> everything(const Ipv4Fib& fib) const {
    std::vector<std::string> rows;
    for (const auto& row : fib.rows(SIZE_MAX)) {
      rows.push_back(to_string(row.prefix) + " " + target_of(row) + " metric " +
                     (row.metric ? std::to_string(*row.metric) : "-") + " " + std::string(row.source) + " " +
                     std::to_string(row.active));
    }
    return rows;
  }

  oracle::Network network_{.ports = router_ports(), .routes = {}, .neighbours = {}};
};

TEST_F(FibWorldTest, AgreesWithTheOracleThroughManyChanges) {
  World world(1);
  for (std::size_t i = 0; i < 3000 / kSanitizerScale; ++i) {
    change(world);
    if (i % 3 != 0) continue;
    expect_agreement(fib_);
    if (HasFailure()) FAIL() << "after change " << i;
  }
  while (!network_.routes.empty()) {
    const auto& [prefix, metric] = network_.routes.begin()->first;
    EXPECT_TRUE(fib_.remove_route(prefix, metric));
    network_.routes.erase(network_.routes.begin());
  }
  for (const auto& neighbour : fib_.neighbours()) EXPECT_TRUE(fib_.remove_neighbour(neighbour.address, neighbour.port));
  Ipv4Fib empty(ports_, no_readers_);
  EXPECT_EQ(everything(fib_), everything(empty));
  EXPECT_EQ(fib_.next_hop_sets(), empty.next_hop_sets()) << "no set is left over";
}

TEST_F(FibWorldTest, LoadingEqualsAddingOneByOne) {
  World world(2);
  for (std::size_t round = 0; round < (kSanitizerScale == 1 ? 8 : 1); ++round) {
    for (int i = 0; i < 100; ++i) change(world);
    control::RouteList list = as_list();
    std::shuffle(list.routes.begin(), list.routes.end(), world.random);
    Ipv4Fib loaded(ports_, no_readers_);
    for (const auto& neighbour : fib_.neighbours()) loaded.set_neighbour(neighbour);
    loaded.add_route(net("99.0.0.0/8"), 0, kBlackhole);
    loaded.load(list);
    EXPECT_EQ(everything(loaded), everything(fib_));
    EXPECT_EQ(loaded.next_hop_sets(), fib_.next_hop_sets());
    expect_agreement(loaded);

    fib_.load(list);  // replaces the existing routes, and the next round continues from there
    EXPECT_EQ(everything(loaded), everything(fib_));
  }
}

TEST_F(FibWorldTest, AFailedChangeChangesNothing) {
  World world(3);
  for (int i = 0; i < 300; ++i) change(world);
  const auto before = everything(fib_);
  const auto sets = fib_.next_hop_sets();
  EXPECT_THROW(fib_.add_route(net("10.0.0.0/24"), 9, via("10.0.0.9", "nowhere")), std::invalid_argument);
  EXPECT_THROW(fib_.add_route({{0x0A000001}, 8}, 9, kBlackhole), std::invalid_argument);
  EXPECT_THROW(fib_.add_route(net("10.0.0.0/24"), 9, {}), std::invalid_argument);
  EXPECT_THROW(fib_.set_neighbour({.address = {1}, .port = "nowhere", .mac = {1}}), std::invalid_argument);
  control::RouteList list = as_list();
  list.routes.push_back(
      {.prefix = net("10.0.0.0/24"), .metric = 77, .target = static_cast<std::uint32_t>(list.targets.size())});
  list.targets.push_back(via("1.1.1.1", "nowhere"));
  EXPECT_THROW(fib_.load(list), std::invalid_argument);
  list.routes.pop_back();
  list.targets.back() = via("1.1.1.1", "wan");
  list.routes.push_back({.prefix = {{0x0A000001}, 8}, .metric = 0, .target = 0});
  EXPECT_THROW(fib_.load(list), std::invalid_argument);
  EXPECT_EQ(everything(fib_), before);
  EXPECT_EQ(fib_.next_hop_sets(), sets);
  expect_agreement(fib_);
}

TEST_F(FibWorldTest, AChangeThatFailsAtALimitHalfWayIsTakenBack) {
  // Once a link leads to them, the neighbours' adjacencies need more second-level groups than there are.
  constexpr std::uint32_t kNeighbours = Dir24_8::kMaxGroups + 20;
  for (std::uint32_t i = 0; i < kNeighbours / 2; ++i) {
    fib_.add_route({{0x50000000 + i * 256}, 25}, 0, kBlackhole);
  }
  for (std::uint32_t i = kNeighbours / 2; i < kNeighbours; ++i) {
    fib_.set_neighbour({.address = {0x50000001 + i * 256}, .port = "bare", .mac = {i}});
  }
  fib_.commit();
  const auto prefixes = fib_.prefixes();
  const auto sets = fib_.next_hop_sets();
  EXPECT_THROW(fib_.add_route(net("80.0.0.0/8"), 0, dev("bare")), std::length_error);
  EXPECT_EQ(fib_.prefixes(), prefixes);
  EXPECT_EQ(fib_.next_hop_sets(), sets);
  EXPECT_FALSE(fib_.lookup(ip("80.200.0.1")));
  fib_.add_route(net("80.0.0.0/8"), 0, kUnreachable);
  EXPECT_EQ(where("80.200.0.1"), "80.0.0.0/8 unreachable");
}

TEST_F(FibTest, SaysWhenSetsRunOut) {
  std::uint32_t added = 0;
  try {
    for (;; ++added) fib_.add_route({{0x50000000 + added * 256}, 24}, 0, via(to_string(Ipv4Address{added + 1}), "wan"));
  } catch (const std::length_error& limit) {
    EXPECT_THAT(limit.what(), testing::HasSubstr("32768"));
  }
  EXPECT_GT(added, 32'700U);
  // Removed routes make room, even without a commit.
  for (std::uint32_t i = 0; i < 1000; ++i) EXPECT_TRUE(fib_.remove_route({{0x50000000 + i * 256}, 24}, 0));
  for (std::uint32_t i = 0; i < 1000; ++i) {
    fib_.add_route({{0x50000000 + i * 256}, 24}, 0, via(to_string(Ipv4Address{0x60000000 + i}), "wan"));
  }
  EXPECT_EQ(where("80.0.7.1"), "80.0.7.0/24 via 96.0.0.7 dev wan");
}

TEST_F(FibTest, KeepsFiftyThousandRandomPrefixes) {
  constexpr std::uint32_t kRoutes = 50'000 / kSanitizerScale;
  World world(4);
  control::RouteList list;
  for (int i = 0; i < 30; ++i) list.targets.push_back(via("192.0.2." + std::to_string(100 + i), "wan"));
  std::map<Ipv4Prefix, std::uint32_t> wanted;
  while (wanted.size() < kRoutes) {
    Ipv4Prefix prefix{{static_cast<std::uint32_t>(world.random())}, static_cast<std::uint8_t>(8 + world.below(20))};
    prefix.address.value &= prefix.mask();
    wanted[prefix] = static_cast<std::uint32_t>(world.below(30));
  }
  for (const auto& [prefix, target] : wanted) list.routes.push_back({.prefix = prefix, .metric = 20, .target = target});
  fib_.load(list);
  for (const auto& [prefix, target] : wanted) {
    const auto rows = fib_.rows(prefix);
    ASSERT_EQ(rows.size(), 1U);
    ASSERT_EQ(target_of(rows[0]), control::to_string(list.targets[target]));
    ASSERT_EQ(rows[0].metric, 20U);
  }
}

}  // namespace
}  // namespace penumbra::ipv4
