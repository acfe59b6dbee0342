// SPDX-License-Identifier: Apache-2.0
#include "functions/ipv6/ipv6.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "base/scratch_folder.h"
#include "functions/ipv6/testing.h"
#include "penumbra/errors.h"

namespace penumbra::ipv6 {
namespace {

using namespace testing_support;
using oracle::Bytes;
using testing::HasSubstr;

/// Runs with each structure of the table.
class Ipv6Test : public testing::TestWithParam<std::size_t>, protected RouterUnderTest {
 protected:
  Ipv6Test() : RouterUnderTest(router_ports(), GetParam()) {}

  /// Adds routes of every kind, with known and unknown neighbours. Two ports have the same link-local gateway.
  void fill() {
    add_neighbour("fe80::1", "wan", 0x0A0000000001);
    add_neighbour("fe80::1", "lan", 0x0A0000000002);
    add_neighbour("2001:db8:2::77", "lan", 0x0A0000000003);
    add_neighbour("2001:db8:4::2", "dmz", 0x0A0000000004);
    add_neighbour("2001:db8:8::5", "bare", 0x0A0000000005);
    add_route("2000::/3", via("fe80::1", "wan"));
    add_route("2001:db8:100::/40", via("2001:db8:4::2", "dmz"));
    add_route("2001:db8:100:8000::/49", via("fe80::1", "lan"));
    add_route("2001:db8:200::/48", kBlackhole);
    add_route("2001:db8:200:8000::/50", kUnreachable);
    add_route("2001:db8:8::/48", dev("bare"));
    add_route("2001:db8:300::/48", via("2001:db8:1::99", "wan"));
    RouteTarget shared;
    shared.next_hops = {{ip("fe80::1"), "wan", 3}, {ip("fe80::1"), "lan", 1}, {ip("2001:db8:4::2"), "dmz", 2}};
    add_route("2001:db8:400::/48", shared);
    network_.routes[{net("2001:db8:300:4::/64"), 0}] = dev("host");
    using Target = Ipv6Fib::Target;
    function_.fib().replace_route(net("2001:db8:300:4::/64"), 0,
                                  Target{.hops = {{.port = Ipv6Fib::Hop::kHost, .gateway = {}}}});
    network_.routes[{net("2001:db8:300:5::/64"), 0}] = dev("unreachable by host");
    function_.fib().replace_route(net("2001:db8:300:5::/64"), 0,
                                  Target{.kind = Target::Kind::unreachable_by_host, .hops = {}});
    function_.fib().commit();
  }
};

Bytes random_frame(std::mt19937_64& random) {
  static const std::vector<std::string> kPlaces{"2001:db8:1::",
                                                "2001:db8:2::",
                                                "2001:db8:2::74",
                                                "2001:db8:3::",
                                                "2001:db8:4::",
                                                "2001:db8:100::",
                                                "2001:db8:100:8000::",
                                                "2001:db8:200::",
                                                "2001:db8:200:8000::",
                                                "2001:db8:8::",
                                                "2001:db8:300:4::",
                                                "2001:db8:300:5::",
                                                "2001:db8:400::",
                                                "3fff::",
                                                "4000::",
                                                "fe80::",
                                                "ff02::",
                                                "::",
                                                "fd00::"};
  const auto place = [&random] {
    Ipv6Address address = ip(kPlaces[random() % kPlaces.size()]);
    address.low += random() % 8;
    return address;
  };
  const Ipv6Address source = random() % 4 == 0 ? place() : ip("2001:db8:77::1");
  const std::size_t payload = random() % 8 == 0 ? 1220 + random() % 300 : 4 + random() % 620;
  const auto hop_limit = static_cast<std::uint8_t>(random() % 4 == 0 ? random() % 4 : random());
  Bytes frame = udp_frame(source, place(), hop_limit, payload, static_cast<std::uint16_t>(random()),
                          random() % 2 == 0 ? 0 : static_cast<std::uint32_t>(random() % (1U << 20)));
  for (auto changes = random() % 8 == 0 ? random() % 4 : 0; changes > 0; --changes) {
    frame[random() % 54] = static_cast<std::uint8_t>(random());
  }
  if (random() % 64 == 0) frame[5] = 77;
  if (random() % 64 == 0) frame[random() % 2] = 1;
  if (random() % 8 == 0) frame.resize(frame.size() + random() % 40);  // padding
  if (random() % 32 == 0) frame.resize(random() % frame.size());
  return frame;
}

TEST_P(Ipv6Test, DoesWhatTheOracleWants) {
  fill();
  std::mt19937_64 random(8200);
  std::map<std::string, int> seen;
  for (int round = 0; round < 4000; ++round) {
    const auto rx_port = static_cast<std::uint16_t>(random() % 4);
    std::vector<Bytes> frames(1 + random() % Chunk::kCapacity);
    packets_.clear();
    for (Bytes& frame : frames) {
      frame = random_frame(random);
      packets_.emplace_back(frame);
    }
    runner_.process(chunk_, packets_, rx_port);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      check(frames[i], packets_[i].frame(), chunk_.verdicts[i], network_.ports[rx_port], seen);
      if (HasFatalFailure()) return;
    }
  }
  for (const char* name : {"", "local", "no_route", "blackhole", "unreachable", "unreachable_by_host", "via_host",
                           "hop_limit_exceeded", "unknown_neighbour", "packet_too_big", "multicast", "link_local"}) {
    EXPECT_GT(seen[name], 100) << name;
  }
}

TEST_P(Ipv6Test, KnowsItsOwnAddressesAndTheRouters) {
  const auto to = [this](const char* address) { return reason(udp_frame(ip("2001:db8:77::1"), ip(address), 64, 8)); };
  EXPECT_EQ(to("2001:db8:1::1"), "local");
  EXPECT_EQ(to("2001:db8:1::"), "local") << "the anycast address of the link's routers";
  EXPECT_EQ(to("2001:db8:3::"), "local");
  EXPECT_EQ(to("2001:db8:3::1"), "unknown_neighbour") << "a link of two has no such address";
  EXPECT_EQ(to("2001:db8:4::3"), "unknown_neighbour") << "there are no broadcasts";
  EXPECT_EQ(to("2001:db8:5::1"), "no_route");
}

TEST_P(Ipv6Test, TheSenderSaysByTheFlowLabelWhatIsAFlow) {
  fill();
  const auto way = [this](std::uint16_t port, std::uint32_t label, std::uint8_t next_header) {
    Bytes frame = udp_frame(ip("2001:db8:77::1"), ip("2001:db8:400::1"), 64, 100, port, label);
    frame[20] = next_header;
    return process(frame).value;
  };
  std::set<std::uint16_t> by_port, by_label;
  for (std::uint16_t i = 1; i < 100; ++i) {
    by_port.insert(way(i, 0, 17));
    by_label.insert(way(1, i, 17));
    const std::uint16_t labelled = way(1, i, 17);
    for (const std::uint8_t next_header : {17, 6, 44, 0}) EXPECT_EQ(way(i, i, next_header), labelled);
    EXPECT_EQ(way(i, 0, 58), way(1, 0, 58)) << "ICMPv6 has no ports";
  }
  EXPECT_EQ(by_port.size(), 3U);
  EXPECT_EQ(by_label.size(), 3U);
}

TEST_P(Ipv6Test, LeavesToOthersWhatIsTheirs) {
  const auto verdict = [this](Function& function, std::uint16_t ethertype) {
    Bytes frame = udp_frame(ip("2001:db8:77::1"), ip("4000::1"), 64, 8);
    frame[12] = static_cast<std::uint8_t>(ethertype >> 8);
    frame[13] = static_cast<std::uint8_t>(ethertype);
    packets_.clear();
    packets_.emplace_back(frame);
    Runner(function).process(chunk_, packets_, 0);
    return chunk_.verdicts[0].kind == Verdict::Kind::pass ? "pass" : reason_of(function, chunk_.verdicts[0]);
  };
  const std::vector<std::uint16_t> behind{0x0800, 0x0806, 0x86DD};
  Ipv6Function first{{network_.ports, no_readers_, nullptr, behind}};
  EXPECT_EQ(verdict(first, 0x0800), "pass");
  EXPECT_EQ(verdict(first, 0x0806), "pass");
  EXPECT_EQ(verdict(first, 0x8100), "other_ethertype");
  EXPECT_EQ(verdict(first, 0x86DD), "no_route") << "its own are its own";
  EXPECT_EQ(verdict(function_, 0x0800), "ipv4");
  EXPECT_EQ(verdict(function_, 0x0806), "arp");
  network_.ports[0].promiscuous = false;
  network_.ports[0].mac = {1};
  first.bind(network_.ports);
  EXPECT_EQ(verdict(first, 0x0800), "wrong_mac") << "nobody's behind it either";
}

TEST_P(Ipv6Test, TracesWhatItSaw) {
  fill();
  process(udp_frame(ip("2001:db8:77::1"), ip("2001:db8:100::1"), 64, 60));
  EXPECT_THAT(function_.trace(chunk_, 0),
              testing::MatchesRegex("2001:db8:77::1 > 2001:db8:100::1 hop limit 64 length "
                                    "100, next hop [0-9]+: to 0a:00:00:00:00:04 out of dmz"));
  process(udp_frame(ip("2001:db8:77::1"), ip("4000::1"), 64, 60));
  EXPECT_THAT(function_.trace(chunk_, 0), HasSubstr(", no prefix: no_route"));
  process(Bytes(10, 0));
  EXPECT_EQ(function_.trace(chunk_, 0), "no IPv6 header, 10 bytes: runt");
}

TEST_P(Ipv6Test, ShowsRoutesAndNeighbours) {
  fill();
  const auto routes = [this](std::vector<std::string> arguments) {
    return function_.show("routes", arguments)["routes"];
  };
  const auto rows = routes({"2001:db8:100::1"});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["prefix"], "2001:db8:100::/40");
  EXPECT_EQ(rows[0]["next_hops"][0]["via"], "2001:db8:4::2");
  EXPECT_EQ(routes({"2001:db8:1::/128"})[0]["source"], "anycast");
  EXPECT_EQ(routes({"2001:db8:2::77/128"})[0]["source"], "neighbour");
  EXPECT_GT(routes({}).size(), 15U);
  EXPECT_EQ(function_.show("neighbours", {}).size(), 5U);
  EXPECT_THROW(routes({"2001:db8::1/64"}), std::invalid_argument);
  EXPECT_EQ(routes({"192.0.2.0/24"}).size(), 0U) << "another function may have it";
  const std::vector<std::string> memory{"--memory"};
  const auto costs = function_.show("routes", memory);
  ASSERT_EQ(costs.size(), 1U);
  EXPECT_EQ(costs[0]["structure"], function_.shader());
  EXPECT_EQ(costs[0]["prefixes"], function_.fib().prefixes());
}

class Ipv6FileTest : public Ipv6Test {
 protected:
  void write(const char* name, const std::string& text) { std::ofstream(folder_.path() / name) << text; }
  std::unique_ptr<Ipv6Function> make() {
    const ConfigNode config =
        ConfigNode::parse("{routes: routes.txt, neighbours: neighbours.txt}", "x.yaml", folder_.path());
    auto function = std::make_unique<Ipv6Function>(FunctionContext{network_.ports, no_readers_}, GetParam());
    function->configure(config, {network_.ports, no_readers_});
    return function;
  }
  ScratchFolder folder_;
};

TEST_P(Ipv6FileTest, ReadsWhatTheHostPrintsAndExchangesIt) {
  write("routes.txt",
        "2001:db8:50::/48 via fe80::9 dev wan metric 1024 pref medium\n"
        "default via 2001:db8:2::9 dev lan proto ra metric 100 expires 1700sec mtu 1500 hoplimit 64 pref medium\n"
        "unreachable 2001:db8:51::/48 dev lo metric 1024 error -113 pref medium\n");
  write(
      "neighbours.txt",
      "fe80::9 dev wan lladdr 0a:00:00:00:00:09 router REACHABLE\n192.0.2.9 dev wan lladdr 0a:00:00:00:00:0a STALE\n");
  const auto function = make();
  const auto found = function->fib().lookup(ip("2001:db8:50::1"));
  EXPECT_EQ(found.value().target, "via fe80::9 dev wan");
  EXPECT_EQ(function->fib().lookup(ip("4000::1")).value().target, "via 2001:db8:2::9 dev lan");
  EXPECT_EQ(function->show("neighbours", {}).size(), 1U);
  write("routes.txt", "2001:db8:50::/48 via fe80::8 dev wan metric 1024\n");
  write("neighbours.txt", "");
  const auto next = make();
  const auto lines = function->differences(*next, ConfigNode::parse("{}", "x.yaml", folder_.path()));
  EXPECT_EQ(lines, (std::vector<std::string>{"routes: 0 added, 2 removed, 1 changed, 0 as before",
                                             "neighbours: 0 added, 1 removed, 0 changed, 0 as before"}));
  function->exchange(*next);
  EXPECT_EQ(function->fib().lookup(ip("2001:db8:50::1")).value().target, "via fe80::8 dev wan");
  EXPECT_FALSE(function->fib().lookup(ip("4000::1")));
  function->exchange(*next);
  EXPECT_EQ(function->fib().lookup(ip("4000::1")).value().target, "via 2001:db8:2::9 dev lan");
}

/// Compares random changes of routes and neighbours with the oracle's lists, and then removes everything.
TEST_P(Ipv6Test, ChangesAgreeWithTheOracle) {
  std::mt19937_64 random(4291);
  const auto address = [&random] {
    return Ipv6Address{0x20010DB800000000 | (random() % 4) << 16 | random() % 3, random() % 4};
  };
  const std::vector<RouteTarget> targets{kBlackhole,           kUnreachable,          dev("bare"),
                                         dev("lan"),           via("fe80::1", "wan"), via("fe80::1", "lan"),
                                         via("fe80::2", "dmz")};
  const std::vector<std::string> ports{"wan", "lan", "dmz", "bare"};
  const auto empty_sets = function_.fib().next_hop_sets();
  const auto empty_prefixes = function_.fib().prefixes();
  std::map<std::string, int> seen;
  for (int i = 0; i < 4000; ++i) {
    const std::vector<std::uint8_t> lengths{0, 29, 48, 62, 64, 127, 128};
    const Ipv6Prefix prefix = Ipv6Prefix::around(address(), lengths[random() % lengths.size()]);
    const auto metric = static_cast<std::uint32_t>(random() % 2);
    const std::string& port = ports[random() % 4];
    const Ipv6Address neighbour = random() % 4 == 0 ? ip(random() % 2 == 0 ? "fe80::1" : "fe80::2") : address();
    switch (random() % 4) {
      case 0:
        network_.routes[{prefix, metric}] = targets[random() % targets.size()];
        function_.fib().replace_route(prefix, metric, network_.routes[{prefix, metric}]);
        break;
      case 1:
        EXPECT_EQ(function_.fib().remove_route(prefix, metric), network_.routes.erase({prefix, metric}) == 1);
        break;
      case 2:
        network_.neighbours[{port, neighbour}] = {0x0A0000000000 + random() % 100};
        function_.fib().set_neighbour({neighbour, port, network_.neighbours[{port, neighbour}]});
        break;
      default:
        EXPECT_EQ(function_.fib().remove_neighbour(neighbour, port), network_.neighbours.erase({port, neighbour}) == 1);
    }
    const Bytes frame = udp_frame(ip("3fff::1"), address(), 9, 30);
    check(frame, (process(frame), last_), chunk_.verdicts[0], network_.ports[0], seen);
    if (HasFatalFailure()) return;
  }
  for (const auto& [key, target] : network_.routes) EXPECT_TRUE(function_.fib().remove_route(key.first, key.second));
  for (const auto& [key, mac] : network_.neighbours) {
    EXPECT_TRUE(function_.fib().remove_neighbour(key.second, key.first));
  }
  EXPECT_EQ(function_.fib().next_hop_sets(), empty_sets);
  EXPECT_EQ(function_.fib().prefixes(), empty_prefixes);
  for (const char* name : {"", "blackhole", "unreachable", "unknown_neighbour"}) EXPECT_GT(seen[name], 100) << name;
}

TEST_P(Ipv6Test, TakesFromAFeedWhatIsLookedUp) {
  FeedListener listener(function_.fib());
  const auto prefixes = function_.fib().prefixes();
  FeedTarget link;
  link.hops.push_back({.port = 3, .interface = {}, .gateway = {}});
  listener.set_route(net("fe80::/64"), link);
  listener.set_route(net("ff00::/8"), link);
  listener.set_route(parse_ipv4_prefix("192.0.2.0/24").value(), link);
  listener.set_neighbour(3, parse_ipv4_address("192.0.2.9").value(), {9});
  EXPECT_EQ(function_.fib().prefixes(), prefixes);
  EXPECT_TRUE(function_.fib().neighbours().empty());
  FeedTarget gateway;
  gateway.hops.push_back({.port = 3, .interface = {}, .gateway = ip("fe80::9")});
  listener.set_route(net("2001:db8:70::/48"), gateway);
  listener.set_route(net("2001:db8:71::/64"), link);
  const auto to = [this](const char* address) { return reason(udp_frame(ip("2001:db8:77::1"), ip(address), 64, 8)); };
  EXPECT_EQ(to("2001:db8:70::1"), "unknown_neighbour");
  listener.set_neighbour(3, ip("fe80::9"), {0x0A0000000009});
  listener.set_neighbour(3, ip("2001:db8:71::8"), {0x0A0000000008});
  EXPECT_EQ(to("2001:db8:70::1"), "");
  EXPECT_EQ(oracle::mac(last_, 0), 0x0A0000000009U);
  EXPECT_EQ(to("2001:db8:71::8"), "");
  EXPECT_EQ(to("2001:db8:71::9"), "unknown_neighbour");
  listener.remove_neighbour(3, ip("fe80::9"));
  listener.remove_route(net("2001:db8:71::/64"));
  listener.remove_route(net("fe80::/64"));
  listener.commit();
  EXPECT_EQ(to("2001:db8:70::1"), "unknown_neighbour");
  EXPECT_EQ(to("2001:db8:71::8"), "no_route");
}

TEST(Ipv6Lookup, IsNamedInTheConfiguration) {
  const auto lookup = [](const char* text) {
    return forwarding::read_lookup<Family>(ConfigNode::parse(text, "x.yaml", "."));
  };
  EXPECT_EQ(lookup("{}"), 0U);
  EXPECT_EQ(lookup("{lookup: trie}"), 0U);
  EXPECT_EQ(lookup("{lookup: lengths}"), 1U);
  EXPECT_EQ(lookup("{lookup: runs}"), 2U);
  EXPECT_THROW(lookup("{lookup: dir24_8}"), InputError);
  NoReaders no_readers;
  const auto ports = router_ports();
  const FunctionContext context{ports, no_readers};
  const Ipv6Function trie{context, 0}, lengths{context, 1}, runs{context, 2};
  EXPECT_EQ(trie.shader(), "ipv6_trie");
  EXPECT_EQ(lengths.shader(), "ipv6_lengths");
  EXPECT_EQ(runs.shader(), "ipv6_runs");
  EXPECT_THROW(trie.differences(lengths, ConfigNode::parse("{lookup: lengths}", "x.yaml", ".")), InputError);
}

INSTANTIATE_TEST_SUITE_P(Lookups, Ipv6Test, testing::Values(0, 1, 2));
INSTANTIATE_TEST_SUITE_P(Lookups, Ipv6FileTest, testing::Values(0, 1, 2));

}  // namespace
}  // namespace penumbra::ipv6
