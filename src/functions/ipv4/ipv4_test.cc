// SPDX-License-Identifier: Apache-2.0
#include "functions/ipv4/ipv4.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <stdexcept>
#include <utility>

#include "functions/ipv4/testing.h"
#include "testing/function_fixture.h"
#include "testing/message_of.h"

namespace penumbra::ipv4 {
namespace {

using namespace testing_support;
using oracle::Bytes;
using testing::HasSubstr;

control::RouteTarget shared(std::initializer_list<control::NextHop> hops) {
  control::RouteTarget target;
  target.next_hops = hops;
  return target;
}

class Ipv4Test : public testing::TestWithParam<std::size_t>, protected RouterUnderTest {
 protected:
  Ipv4Test() : RouterUnderTest(router_ports(), GetParam()) {}

  /// Adds routes of every kind, with known and unknown neighbours.
  void fill() {
    add_neighbour("192.0.2.254", "wan", 0x0A0000000001);
    add_neighbour("10.0.7.7", "lan", 0x0A0000000002);
    add_neighbour("172.16.0.2", "dmz", 0x0A0000000003);
    add_neighbour("100.64.0.5", "bare", 0x0A0000000004);
    add_route("0.0.0.0/1", via("192.0.2.254", "wan"));
    add_route("198.51.100.0/24", via("172.16.0.2", "dmz"));
    add_route("198.51.100.128/25", via("10.0.7.7", "lan"));
    add_route("203.0.113.0/24", kBlackhole);
    add_route("203.0.113.64/26", kUnreachable);
    add_route("100.64.0.0/10", dev("bare"));
    add_route("8.0.0.0/8", via("192.0.2.99", "wan"));
    add_route("9.0.0.0/8",
              shared({{ip("192.0.2.254"), "wan", 3}, {ip("10.0.7.7"), "lan", 1}, {ip("172.16.0.2"), "dmz", 2}}));
    network_.routes[{net("8.1.1.4/30"), 0}] = dev("host");
    function_.fib().replace_route(net("8.1.1.4/30"), 0, Target{.hops = {{.port = Hop::kHost, .gateway = {}}}});
    network_.routes[{net("8.1.1.0/31"), 0}] = dev("unreachable by host");
    function_.fib().replace_route(net("8.1.1.0/31"), 0, Target{.kind = Target::Kind::unreachable_by_host, .hops = {}});
    function_.fib().commit();
  }
};

Bytes random_frame(std::mt19937_64& random) {
  static const std::vector<std::string> kPlaces{"192.0.2.0",  "10.0.0.0",       "10.0.7.7",        "10.9.0.0",
                                                "172.16.0.0", "198.51.100.120", "203.0.113.60",    "100.64.0.0",
                                                "8.1.1.1",    "9.1.1.1",        "255.255.255.248", "224.0.0.1",
                                                "127.0.0.0",  "10.0.255.250",   "169.254.0.1"};
  const auto address = [&random](std::uint64_t anywhere) -> Ipv4Address {
    if (random() % anywhere == 0) return {static_cast<std::uint32_t>(random())};
    return {ip(kPlaces[random() % kPlaces.size()]).value + static_cast<std::uint32_t>(random() % 8)};
  };
  Ipv4Address source = address(4);
  if (random() % 4 != 0) source = ip("198.51.100.1");
  const std::size_t length = random() % 8 == 0 ? 1480 + random() % 40 : 20 + random() % 620;
  Bytes frame = udp_frame(source, address(6), static_cast<std::uint8_t>(random() % 4 == 0 ? random() % 4 : random()),
                          length, static_cast<std::uint16_t>(random()));
  for (auto changes = random() % 8 == 0 ? random() % 4 : 0; changes > 0; --changes) {
    frame[random() % 34] = static_cast<std::uint8_t>(random());
    if (random() % 2 == 0) oracle::fix_checksum(frame);
  }
  if (random() % 64 == 0) frame[5] = 77;
  if (random() % 64 == 0) frame[14] = static_cast<std::uint8_t>(0x40 + random() % 16);
  if (random() % 64 == 0) frame[random() % 2] = 1;
  const std::vector<Bytes> ethertypes{{8, 6}, {0x86, 0xDD}, {0x81, 0}};
  if (random() % 64 == 0) std::copy_n(ethertypes[random() % 3].begin(), 2, frame.begin() + 12);
  if (random() % 16 == 0 && frame.size() > 54) {  // link-local IPv6
    frame[12] = 0x86, frame[13] = 0xDD, frame[20] = 58, frame[21] = 255, frame[38] = 0xFF;
    frame[54] = static_cast<std::uint8_t>(132 + random() % 2);
  }
  if (random() % 16 == 0) frame.resize(random() % 80, 0);
  if (random() % 4 != 0 && frame.size() >= 34) oracle::fix_checksum(frame);
  return frame;
}

TEST_P(Ipv4Test, AgreesWithTheOracleOnEveryPacketAndMeetsEveryReason) {
  fill();
  network_.ports[1].promiscuous = false;
  function_.bind(network_.ports);
  std::mt19937_64 random(791);
  std::map<std::string, int> seen;
  for (int round = 0; round < 3000; ++round) {
    std::vector<Bytes> before(1 + random() % Chunk::kCapacity);
    const auto rx_port = static_cast<std::uint16_t>(random() % network_.ports.size());
    for (Bytes& frame : before) frame = random_frame(random);
    std::vector<Packet> packets(before.begin(), before.end());
    runner_.process(chunk_, packets, rx_port);
    for (std::size_t i = 0; i < before.size(); ++i) {
      check(before[i], packets[i].frame(), chunk_.verdicts[i], network_.ports[rx_port], seen);
      if (HasFatalFailure()) return;
    }
  }
  for (const Reason& known : function_.reasons()) EXPECT_GT(seen[known.name], 0) << known.name;
  EXPECT_GT(seen[""], 10'000);
}

TEST_P(Ipv4Test, JudgesInOrder) {
  fill();
  const Ipv4Address anyone = ip("198.51.100.1");
  EXPECT_EQ(reason(udp_frame(anyone, ip("10.0.0.1"), 1, 40)), "local") << "before the TTL";
  EXPECT_EQ(reason(udp_frame(anyone, ip("10.9.0.1"), 64, 40)), "local");
  EXPECT_EQ(reason(udp_frame(anyone, ip("10.0.255.255"), 1, 40)), "broadcast");
  EXPECT_EQ(reason(udp_frame(anyone, ip("10.0.0.0"), 64, 40)), "broadcast");
  EXPECT_EQ(reason(udp_frame(anyone, ip("10.9.0.0"), 64, 40)), "unknown_neighbour") << "a /31 has no broadcast";
  EXPECT_EQ(reason(udp_frame(anyone, ip("203.0.113.1"), 1, 40)), "blackhole");
  EXPECT_EQ(reason(udp_frame(anyone, ip("203.0.113.65"), 1, 40)), "unreachable");
  EXPECT_EQ(reason(udp_frame(anyone, ip("8.8.8.8"), 1, 1500)), "ttl_expired") << "before the neighbour";
  EXPECT_EQ(reason(udp_frame(anyone, ip("8.8.8.8"), 2, 1500)), "unknown_neighbour");
  EXPECT_EQ(reason(udp_frame(anyone, ip("198.51.100.1"), 1, 577)), "ttl_expired") << "before the MTU";
  EXPECT_EQ(reason(udp_frame(anyone, ip("198.51.100.1"), 2, 577)), "fragmentation_needed");
  EXPECT_EQ(reason(udp_frame(anyone, ip("198.51.100.1"), 2, 576)), "");
  EXPECT_EQ(reason(udp_frame(anyone, ip("10.0.3.3"), 64, 40)), "unknown_neighbour") << "nobody known on the link";
  EXPECT_EQ(reason(udp_frame(anyone, ip("10.0.7.7"), 64, 40)), "");
  EXPECT_EQ(reason(udp_frame(anyone, ip("100.64.0.5"), 64, 40)), "") << "on the link of a route without gateway";
  EXPECT_EQ(reason(udp_frame(anyone, ip("100.64.0.6"), 64, 40)), "unknown_neighbour");
}

TEST_P(Ipv4Test, LeavesPaddingAndWhatOthersDecidedAlone) {
  fill();
  Bytes frame = udp_frame(ip("198.51.100.1"), ip("1.2.3.4"), 64, 30);
  frame.resize(60, 0xEE);
  const Bytes in = frame;
  ASSERT_EQ(process(frame), Verdict::send(0));
  EXPECT_EQ(last_, oracle::forwarded(in, 0x0A0000000001, 0x020000000001, 1500));

  Bytes largest = udp_frame(ip("198.51.100.1"), ip("198.51.100.1"), 64, 30);
  largest.resize(14 + 576, 0xEE);
  ASSERT_EQ(process(largest), Verdict::send(2));
  EXPECT_EQ(last_.size(), 14U + 576) << "as long as the MTU permits";
  largest.push_back(0xEE);
  ASSERT_EQ(process(largest), Verdict::send(2));
  EXPECT_EQ(last_, oracle::forwarded(largest, 0x0A0000000003, 0x020000000003, 576));
  EXPECT_EQ(last_.size(), 14U + 30);
  EXPECT_EQ(packets_[0].mbuf.pkt_len, 14U + 30);

  std::vector<Packet> packets;
  packets.emplace_back(in);
  packets.emplace_back(in);
  chunk_.size = 2;
  chunk_.packets[0] = &packets[0].mbuf;
  chunk_.packets[1] = &packets[1].mbuf;
  chunk_.verdicts[0] = {Verdict::Kind::drop, 3};
  chunk_.verdicts[1] = {};
  chunk_.columns.clear();
  function_.pre_shade(chunk_);
  EXPECT_EQ(chunk_.batch.items, 1U);
  EXPECT_EQ(chunk_.packet_of_item[0], 1);
  EXPECT_EQ(chunk_.verdicts[0], (Verdict{Verdict::Kind::drop, 3}));
}

TEST_P(Ipv4Test, SharesFlowsByWeightAndKeepsEachOnOneNextHop) {
  fill();
  std::map<std::uint64_t, int> packets_to;
  constexpr int kFlows = 20'000;
  for (int flow = 0; flow < kFlows; ++flow) {
    const auto frame =
        udp_frame({0x0B000000U + static_cast<std::uint32_t>(flow / 7)},
                  {0x09000000U + static_cast<std::uint32_t>(flow)}, 64, 60, static_cast<std::uint16_t>(flow * 3));
    const Verdict first = process(frame);
    const std::uint64_t chosen = oracle::mac(last_, 0);
    ++packets_to[chosen];
    ASSERT_EQ(process(frame), first);
    ASSERT_EQ(oracle::mac(last_, 0), chosen);
  }
  EXPECT_NEAR(packets_to[0x0A0000000001], kFlows / 2.0, kFlows * 0.02);
  EXPECT_NEAR(packets_to[0x0A0000000002], kFlows / 6.0, kFlows * 0.02);
  EXPECT_NEAR(packets_to[0x0A0000000003], kFlows / 3.0, kFlows * 0.02);
}

TEST_P(Ipv4Test, AFlowDoesNotDependOnPaddingOrSegments) {
  fill();
  std::set<std::uint16_t> ports;
  for (std::uint8_t fill_byte = 0; fill_byte < 50; ++fill_byte) {
    Bytes frame = udp_frame(ip("11.0.0.1"), ip("9.0.0.1"), 64, 22);  // too short for both ports
    frame.resize(60, fill_byte);
    ports.insert(process(frame).value);
  }
  EXPECT_EQ(ports.size(), 1U);
}

TEST_P(Ipv4Test, ChangesTakeEffect) {
  fill();
  const Bytes frame = udp_frame(ip("198.51.100.1"), ip("198.51.100.200"), 64, 60);
  ASSERT_EQ(process(frame), Verdict::send(1));
  EXPECT_EQ(oracle::mac(last_, 0), 0x0A0000000002U);
  add_neighbour("10.0.7.7", "lan", 0x0A00000000FF);
  ASSERT_EQ(process(frame), Verdict::send(1));
  EXPECT_EQ(oracle::mac(last_, 0), 0x0A00000000FFU);
  EXPECT_TRUE(function_.fib().remove_neighbour(ip("10.0.7.7"), "lan"));
  EXPECT_EQ(reason(frame), "unknown_neighbour");

  add_route("198.51.100.128/25", via("192.0.2.254", "wan"), 10);
  EXPECT_EQ(reason(frame), "unknown_neighbour") << "the lower metric counts, reachable or not";
  EXPECT_TRUE(function_.fib().remove_route(net("198.51.100.128/25"), 0));
  EXPECT_EQ(process(frame), Verdict::send(0));
  EXPECT_TRUE(function_.fib().remove_route(net("198.51.100.128/25"), 10));
  EXPECT_EQ(process(frame), Verdict::send(2)) << "by the shorter prefix";
}

TEST_P(Ipv4Test, BindsFinalAddressesAndMtus) {
  fill();
  network_.ports[0].mac = {0x02AABBCCDDEE};
  network_.ports[0].mtu = 100;
  function_.bind(network_.ports);
  ASSERT_EQ(process(udp_frame(ip("198.51.100.1"), ip("1.2.3.4"), 64, 100)), Verdict::send(0));
  EXPECT_EQ(oracle::mac(last_, 6), 0x02AABBCCDDEEU);
  EXPECT_EQ(reason(udp_frame(ip("198.51.100.1"), ip("1.2.3.4"), 64, 101)), "fragmentation_needed");
}

TEST_P(Ipv4Test, TracesInOneLine) {
  fill();
  process(udp_frame(ip("198.51.100.1"), ip("1.2.3.4"), 64, 100));
  EXPECT_THAT(function_.trace(chunk_, 0), testing::MatchesRegex("198.51.100.1 > 1.2.3.4 ttl 64 length 100, next hop "
                                                                "[0-9]+: to 0a:00:00:00:00:01 out of wan"));
  process(udp_frame(ip("198.51.100.1"), ip("203.0.113.1"), 1, 100));
  EXPECT_THAT(function_.trace(chunk_, 0), HasSubstr("ttl 1 length 100, next hop"));
  EXPECT_THAT(function_.trace(chunk_, 0), HasSubstr(": blackhole"));
  process(Bytes{1, 2, 3});
  EXPECT_EQ(function_.trace(chunk_, 0), "no IPv4 header, 3 bytes: runt");
}

TEST_P(Ipv4Test, ShowsRoutesAndNeighbours) {
  fill();
  add_route("198.51.100.0/24", kBlackhole, 7);
  const auto show = [this](std::string_view topic, std::vector<std::string> arguments) {
    return function_.show(topic, arguments);
  };
  const auto exact = show("routes", {"198.51.100.0/24"});
  ASSERT_EQ(exact["routes"].size(), 2U);
  EXPECT_EQ(exact["total"], 1);
  EXPECT_EQ(exact["truncated"], false);
  const auto first_exact = exact["routes"][0], second = exact["routes"][1];
  EXPECT_EQ(first_exact["type"], "unicast");
  EXPECT_EQ(first_exact["next_hops"].dump(), R"([{"via":"172.16.0.2","dev":"dmz","weight":1}])");
  EXPECT_EQ(first_exact["active"], true);
  EXPECT_EQ(second["type"], "blackhole");
  EXPECT_FALSE(second.contains("next_hops"));
  EXPECT_EQ(second["metric"], 7);
  EXPECT_EQ(second["active"], false);
  const auto longest = show("routes", {"198.51.100.129"})["routes"];
  ASSERT_EQ(longest.size(), 1U);
  EXPECT_EQ(longest[0]["prefix"], "198.51.100.128/25");
  const auto local = show("routes", {"10.0.0.1"})["routes"][0];
  EXPECT_EQ(local["type"], "local");
  EXPECT_EQ(local["next_hops"].dump(), R"([{"dev":"lan","weight":1}])");
  const auto none = show("routes", {"1.2.3.0/24"});
  EXPECT_TRUE(none["routes"].is_array() && none["routes"].empty());
  EXPECT_EQ(none["note"], "no route to exactly 1.2.3.0/24");
  EXPECT_EQ(show("neighbours", {}).size(), 4U);
  EXPECT_EQ(show("neighbours", {})[0]["mac"], "0a:00:00:00:00:02");
  EXPECT_THROW(show("routes", {"somewhere"}), std::invalid_argument);
  EXPECT_THROW(show("routes", {"all", "of"}), std::invalid_argument);
  EXPECT_THROW(show("neighbours", {"x"}), std::invalid_argument);
  EXPECT_THROW(show("weather", {}), std::invalid_argument);

  const std::size_t few = show("routes", {})["routes"].size();
  EXPECT_EQ(show("routes", {})["truncated"], false);
  EXPECT_EQ(show("routes", {"all"})["routes"].size(), few);
  const std::size_t prefixes = function_.fib().prefixes();
  for (std::uint32_t i = 0; i < 1500; ++i) add_route(to_string(Ipv4Address{0x14000000 + i * 256}) + "/24", kBlackhole);
  EXPECT_EQ(show("routes", {"all"})["routes"].size(), few + 1500);
  EXPECT_EQ(show("routes", {"all"})["truncated"], false);
  const auto first = show("routes", {});
  EXPECT_EQ(first["truncated"], true);
  EXPECT_EQ(first["total"], prefixes + 1500);
  EXPECT_LE(first["routes"].size(), 1001U);
  for (const auto& row : first["routes"]) EXPECT_TRUE(parse_ipv4_prefix(row["prefix"].get<std::string>()));
}

TEST_P(Ipv4Test, SaysWhereNoRouteLeads) {
  const std::vector<std::string> somewhere{"203.0.113.9"};
  const auto answer = function_.show("routes", somewhere);
  EXPECT_EQ(answer["routes"].size(), 0U);
  EXPECT_EQ(answer["note"], "203.0.113.9 unreachable");
}

TEST_P(Ipv4Test, SaysWhatItsStructuresCost) {
  fill();
  const std::vector<std::string> memory{"--memory"}, and_more{"--memory", "all"};
  const auto rows = function_.show("routes", memory);
  ASSERT_EQ(rows.size(), 1 + GetParam());
  EXPECT_EQ(rows[0]["structure"], "ipv4_dir24_8");
  EXPECT_EQ(rows.back()["structure"], function_.shader());
  for (const auto& row : rows) {
    EXPECT_EQ(row["prefixes"], function_.fib().prefixes());
    const std::size_t least = row["structure"] == "ipv4_dir24_8" ? std::size_t{32} << 20 : std::size_t{256} << 10;
    EXPECT_GE(row["bytes"].get<std::size_t>(), least);
    EXPECT_EQ(row["bytes_per_prefix"], row["bytes"].get<std::size_t>() / function_.fib().prefixes());
  }
  EXPECT_THROW(function_.show("routes", and_more), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Lookups, Ipv4Test, testing::Values(0, 1));

/// Implements a feed that records its requests. If `fails` is set, it fails once, after recording a request.
class FragileFeed final : public RouteFeed {
 public:
  void check_source(const std::string& /*name*/) const override {}
  void check_table(const std::string& /*text*/) const override {}
  std::unique_ptr<RouteSubscription> subscribe(const FeedRequest& request, RouteListener& /*listener*/) override {
    own = request.routes.size();
    return std::make_unique<Subscription>(*this);
  }

  std::size_t own = 0;  ///< number of the configuration's routes in the feed
  bool fails = false;

 private:
  class Subscription final : public RouteSubscription {
   public:
    explicit Subscription(FragileFeed& feed) : feed_(feed) {}
    void replace_own(const FeedRequest& request) override {
      feed_.own = request.routes.size();
      if (std::exchange(feed_.fails, false)) throw std::length_error("there is no room");
    }
    void change_own(const FeedRequest& /*request*/) override {}
    void visit(Ipv4Prefix /*prefix*/, const std::function<void(const FeedRow&)>& /*visit*/) const override {}
    void visit(Ipv6Prefix /*prefix*/, const std::function<void(const FeedRow&)>& /*visit*/) const override {}
    std::vector<Ipv6Prefix> ipv6_prefixes() const override { return {}; }
    std::vector<FeedNeighbour> neighbours() const override { return {}; }
    std::vector<FeedSource> sources() const override { return {}; }

   private:
    FragileFeed& feed_;
  };
};

class Ipv4ConfigTest : public function_testing::FunctionTest {
 protected:
  Ipv4ConfigTest() : FunctionTest("ipv4", router_ports()) {}
  std::string error(const std::string& config) {
    return message_of([&] { make(config); });
  }
  std::string outcome(const char* source, const char* destination) {
    return reason(udp_frame(ip(source), ip(destination), 64, 100));
  }
};

TEST_F(Ipv4ConfigTest, ReadsItsFiles) {
  write("r.txt", "default via 192.0.2.254 dev wan\n");
  write("n.txt", "192.0.2.254 dev wan lladdr 0a:00:00:00:00:01\n");
  create("{routes: r.txt, neighbours: n.txt, engine: scalar}");
  EXPECT_EQ(send(udp_frame(ip("198.51.100.1"), ip("1.2.3.4"), 64, 100)), Verdict::send(0));
  EXPECT_NO_THROW(make("{}"));
  EXPECT_EQ(make("{}")->shaders().front().name, "ipv4_dir24_8");
  EXPECT_EQ(make("{lookup: runs}")->shaders().front().name, "ipv4_runs");
}

TEST_F(Ipv4ConfigTest, ForwardsLinkLocalAddressesOnlyIfItIsTold) {
  write("r.txt", "default via 192.0.2.254 dev wan\n");
  write("n.txt", "192.0.2.254 dev wan lladdr 0a:00:00:00:00:01\n");
  ports_[3].addresses = {{ip("169.254.7.1"), net("169.254.7.0/24")}};
  const std::string files = "routes: r.txt, neighbours: n.txt";
  create("{" + files + "}");
  EXPECT_EQ(outcome("198.51.100.1", "1.2.3.4"), "");
  EXPECT_EQ(outcome("169.254.9.9", "1.2.3.4"), "link_local");
  EXPECT_EQ(outcome("198.51.100.1", "169.254.9.9"), "link_local");
  EXPECT_EQ(outcome("169.253.255.255", "169.255.0.0"), "");
  EXPECT_EQ(outcome("169.254.7.2", "169.254.7.1"), "local") << "the router's own address is the host's";
  EXPECT_EQ(outcome("169.254.7.2", "169.254.7.255"), "broadcast");
  const auto next = make("{link_local: forward, " + files + "}");
  EXPECT_THAT(function_->differences(*next, parse("{" + files + "}")),
              testing::ElementsAre("link_local: forward, was drop"));
  function_->exchange(*next);
  EXPECT_EQ(outcome("169.254.9.9", "1.2.3.4"), "");
  function_->exchange(*next);
  EXPECT_EQ(outcome("169.254.9.9", "1.2.3.4"), "link_local");
  EXPECT_THAT(error("{link_local: yes}"), HasSubstr("there are: drop, forward"));
}

TEST_F(Ipv4ConfigTest, GivesPacketsByAGatewayOfTheOtherFamilyToTheHost) {
  write("r.txt", "10.0.0.0/8 via inet6 fe80::1 dev wan\n");
  create("{routes: r.txt}");
  EXPECT_EQ(outcome("198.51.100.1", "10.77.0.1"), "via_host");
  EXPECT_EQ(chunk_.verdicts[0].kind, Verdict::Kind::punt);
  const std::vector<std::string> arguments{"10.0.0.0/8"};
  EXPECT_EQ(function_->show("routes", arguments).at("routes")[0]["next_hops"][0]["host"], true);
}

TEST_F(Ipv4ConfigTest, WarnsOfRoutesAndNeighboursThatDoNothing) {
  write("r.txt", "10.0.0.0/8 via 192.0.2.1 dev wan\n127.0.0.0/8 dev lan\n224.0.0.0/4 dev lan\ndefault dev lan\n");
  write("n.txt", "192.0.2.1 dev wan lladdr 0a:00:00:00:00:01\n");
  const auto warnings = make("{routes: r.txt, neighbours: n.txt}")->warnings();
  EXPECT_THAT(warnings,
              testing::ElementsAre(HasSubstr("the gateway 192.0.2.1 is the router's own address, on port 'wan'"),
                                   HasSubstr("no packet takes the route to 127.0.0.0/8"),
                                   HasSubstr("no packet takes the route to 224.0.0.0/4"),
                                   HasSubstr("192.0.2.1 is the router's own address")));
  EXPECT_THAT(make("{}")->warnings(), testing::IsEmpty());
}

TEST_F(Ipv4ConfigTest, KeepsItsRoutesWhereTheFeedFailsAtOthers) {
  write("one.txt", "default via 192.0.2.254 dev wan\n");
  write("two.txt", "default via 192.0.2.254 dev wan\n10.1.0.0/16 via 192.0.2.254 dev wan\n");
  FragileFeed feed, spare;
  feed_ = &feed;
  const auto function = make("{follow: [kernel], routes: one.txt}");
  feed_ = &spare;
  const auto next = make("{follow: [kernel], routes: two.txt}");
  feed.fails = true;
  EXPECT_THROW(function->exchange(*next), std::length_error);
  EXPECT_EQ(feed.own, 1U);
  function->exchange(*next);
  EXPECT_EQ(feed.own, 2U);
}

TEST_F(Ipv4ConfigTest, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(error("{route: r.txt}"), HasSubstr("routes"));
  EXPECT_THAT(error("{lookup: run}"), HasSubstr("no look-up is called 'run'; did you mean 'runs'?"));
  write("r.txt", "default via 192.0.2.254 dev lann\n");
  EXPECT_THAT(error("{routes: r.txt}"), HasSubstr("r.txt:1:"));
  EXPECT_THAT(error("{routes: none.txt}"), HasSubstr("none.txt"));
  ports_[3].addresses = {{ip("10.0.0.1"), net("10.0.0.0/24")}};
  EXPECT_THAT(error("{}"), HasSubstr("'lan' and 'bare' both have address 10.0.0.1"));
  ports_[3].addresses = {{ip("10.0.0.2"), net("10.0.0.0/16")}};
  EXPECT_THAT(error("{}"), HasSubstr("'lan' and 'bare' both have network 10.0.0.0/16"));
}

}  // namespace
}  // namespace penumbra::ipv4
