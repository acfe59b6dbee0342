// SPDX-License-Identifier: Apache-2.0
#include "control/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <sstream>

#include "control/bad_case.h"
#include "testing/message_of.h"

namespace penumbra::control {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::vector<std::string> kThreePorts{"wan", "lan", "dmz"};

RouteList parse_three_ports(std::string_view text) {
  return parse_routes(text, "routes.txt", kThreePorts);
}

/// Returns every route as `PREFIX metric N TARGET`.
std::vector<std::string> lines_of(const RouteList& list) {
  std::vector<std::string> lines;
  lines.reserve(list.routes.size());
  for (const auto& route : list.routes) {
    lines.push_back(to_string(route.prefix) + " metric " + std::to_string(route.metric) + " " +
                    to_string(list.targets.at(route.target)));
  }
  return lines;
}

TEST(ParseRoutes, TakesWhatIpRoutePrintsOfAllKinds) {
  const auto list = parse_routes<Ipv4>(
      "blackhole 10.4.0.0/16 nhid 12 dev lo\n"
      "unreachable 10.5.0.0/16 dev lo proto static metric 5\n"
      "prohibit 10.6.0.0/16 dev lo\n"
      "10.7.0.0/16 via inet6 fe80::1 dev wan proto bgp metric 20\n"
      "10.8.0.0/16 nhid 3 proto static\n"
      "\tnexthop via inet6 fe80::2 dev wan weight 1\n"
      "\tnexthop via 192.0.2.1 dev lan weight 2\n",
      "r", {"wan", "lan"});
  std::vector<std::string> texts;
  texts.reserve(list.routes.size());
  for (const auto& route : list.routes) texts.push_back(to_string(list.targets[route.target]));
  EXPECT_THAT(texts, testing::ElementsAre("blackhole", "unreachable", "unreachable", "via inet6 fe80::1 dev wan",
                                          "nexthop via inet6 fe80::2 dev wan weight 1 nexthop via 192.0.2.1 dev lan "
                                          "weight 2"));
  std::ostringstream out;
  write_routes(out, list);
  const auto again = parse_routes<Ipv4>(out.str(), "again", {"wan", "lan"});
  EXPECT_EQ(again.targets, list.targets);
}

TEST(Routes, TakesEveryForm) {
  const std::vector<std::pair<std::string, std::string>> forms{
      {"10.0.0.0/8 via 192.0.2.1 dev wan", "10.0.0.0/8 metric 0 via 192.0.2.1 dev wan"},
      {"unicast 10.0.0.0/8 via 192.0.2.1 dev wan metric 7", "10.0.0.0/8 metric 7 via 192.0.2.1 dev wan"},
      {"10.0.0.0/8 metric 4294967295 dev lan via 192.0.2.1", "10.0.0.0/8 metric 4294967295 via 192.0.2.1 dev lan"},
      {"default via 192.0.2.1 dev wan", "0.0.0.0/0 metric 0 via 192.0.2.1 dev wan"},
      {"192.0.2.9 dev lan", "192.0.2.9/32 metric 0 dev lan"},
      {"192.0.2.0/24 dev wan proto kernel scope link src 192.0.2.2", "192.0.2.0/24 metric 0 dev wan"},
      {"10.0.0.0/8 via 192.0.2.1 dev wan proto static onlink", "10.0.0.0/8 metric 0 via 192.0.2.1 dev wan"},
      {"10.0.0.0/8 metric 3 nexthop via 192.0.2.1 dev wan weight 256 nexthop via 192.0.2.2 dev lan",
       "10.0.0.0/8 metric 3 nexthop via 192.0.2.1 dev wan weight 256 nexthop via 192.0.2.2 dev lan weight 1"},
      {"10.0.0.0/8 proto static \\\tnexthop via 192.0.2.1 dev wan weight 1 \\\tnexthop dev lan weight 2",
       "10.0.0.0/8 metric 0 nexthop via 192.0.2.1 dev wan weight 1 nexthop dev lan weight 2"},
      {"10.0.0.0/8 nexthop via 192.0.2.1 dev wan", "10.0.0.0/8 metric 0 via 192.0.2.1 dev wan"},
      {"10.0.0.0/8 nexthop via 192.0.2.1 dev wan weight 2",
       "10.0.0.0/8 metric 0 nexthop via 192.0.2.1 dev wan weight 2"},
      {"10.0.0.0/8 proto bird metric 32 \n\tnexthop via 192.0.2.1 dev wan weight 1 \n"
       "\tnexthop via 192.0.2.2 dev lan weight 2 dead linkdown ",
       "10.0.0.0/8 metric 32 nexthop via 192.0.2.1 dev wan weight 1 nexthop via 192.0.2.2 dev lan weight 2"},
      {"10.0.0.0/8 # both\r\nnexthop dev wan#first\n  nexthop dev lan",
       "10.0.0.0/8 metric 0 nexthop dev wan weight 1 nexthop dev lan weight 1"},
      {"10.0.0.0/8 nhid 12 via 192.0.2.1 dev wan proto zebra src 192.0.2.9 metric 20 linkdown pervasive mtu lock 1400 "
       "advmss 1360 expires 30sec pref medium",
       "10.0.0.0/8 metric 20 via 192.0.2.1 dev wan"},
      {"prohibit 10.0.0.0/8 metric 4", "10.0.0.0/8 metric 4 unreachable"},
      {"blackhole 10.0.0.0/8", "10.0.0.0/8 metric 0 blackhole"},
      {"unreachable default metric 9 proto static", "0.0.0.0/0 metric 9 unreachable"},
      {" \t 10.0.0.0/8\tdev lan # here 'via' is nothing", "10.0.0.0/8 metric 0 dev lan"},
      {"10.0.0.0/8 dev lan#", "10.0.0.0/8 metric 0 dev lan"},
  };
  for (const auto& [text, expected] : forms) {
    for (const std::string end : {"", "\n", "\r\n", "\n\n# end"}) {
      EXPECT_THAT(lines_of(parse_three_ports(text + end)), ::testing::ElementsAre(expected)) << text;
    }
  }
}

TEST(Routes, LinesOfOneRouteEndWithIt) {
  EXPECT_THAT(lines_of(parse_three_ports("10.0.0.0/8\n\tnexthop dev wan\n\tnexthop dev lan\n"
                                         "11.0.0.0/8 dev wan\n"
                                         "12.0.0.0/8\n\tnexthop dev wan\n\tnexthop dev lan\n"
                                         "13.0.0.0/8\n\tnexthop dev wan\n"
                                         "14.0.0.0/8 dev lan")),
              ::testing::ElementsAre("10.0.0.0/8 metric 0 nexthop dev wan weight 1 nexthop dev lan weight 1",
                                     "11.0.0.0/8 metric 0 dev wan",
                                     "12.0.0.0/8 metric 0 nexthop dev wan weight 1 nexthop dev lan weight 1",
                                     "13.0.0.0/8 metric 0 dev wan", "14.0.0.0/8 metric 0 dev lan"));
}

TEST(Routes, ATextWithoutRoutesIsAnEmptyList) {
  for (const char* text : {"", "\n", "# only this", "\r\n \t\r\n"}) {
    EXPECT_TRUE(parse_three_ports(text).routes.empty());
    EXPECT_TRUE(parse_three_ports(text).targets.empty());
  }
}

TEST(Routes, EqualTargetsAreOne) {
  const auto list = parse_three_ports(
      "10.0.0.0/8 via 192.0.2.1 dev wan\n"
      "11.0.0.0/8 dev wan via 192.0.2.1 metric 5\n"
      "12.0.0.0/8 nexthop via 192.0.2.1 dev wan weight 1\n"
      "13.0.0.0/8 via 192.0.2.1 dev lan\n"
      "blackhole 14.0.0.0/8\nblackhole 15.0.0.0/8 metric 2\n");
  EXPECT_EQ(list.targets.size(), 3U);
  EXPECT_EQ(list.routes[0].target, list.routes[2].target);
}

TEST(Routes, OnePrefixMayHaveSeveralMetrics) {
  EXPECT_EQ(parse_three_ports("10.0.0.0/8 dev wan\n10.0.0.0/8 dev lan metric 1\nblackhole 10.0.0.0/8 metric 2\n")
                .routes.size(),
            3U);
}

TEST(Routes, AnyPortWillDoWhereNoneAreNamed) {
  EXPECT_EQ(parse_routes("10.0.0.0/8 dev whatever", "x", {}).targets[0].next_hops[0].port, "whatever");
}

class RouteErrors : public ::testing::TestWithParam<BadCase> {};

TEST_P(RouteErrors, SayWhereAndWhat) {
  expect_refused(GetParam(), "routes.txt", [] { parse_three_ports(GetParam().text); });
}

INSTANTIATE_TEST_SUITE_P(
    Prefixes, RouteErrors,
    ::testing::Values(
        BadCase{"10.0.0.1/8 dev wan", 1, 1,
                "'10.0.0.1/8' has bits set past its length; the prefix would be 10.0.0.0/8"},
        BadCase{"10.0.0.0/33 dev wan", 1, 10, "expected a prefix length from 0 to 32, found '33'"},
        BadCase{"10.0.0.0/ dev wan", 1, 10, "expected a prefix length from 0 to 32, found ''"},
        BadCase{"10.0.0.0/08 dev wan", 1, 1, "expected a prefix such as 10.0.0.0/8, found '10.0.0.0/08'"},
        BadCase{"10.0.0/8 dev wan", 1, 1, "expected a prefix (A.B.C.D/LENGTH), found '10.0.0/8'"},
        BadCase{"10.0.0.256 dev wan", 1, 1, "expected a prefix (A.B.C.D/LENGTH)"},
        BadCase{"\n  blakhole 10.0.0.0/8", 2, 3, "did you mean 'blackhole'?"},
        BadCase{"blackhole", 1, 10, "expected a prefix (A.B.C.D/LENGTH), found the end of the line"},
        BadCase{"2001:db8::/32 dev wan", 1, 1, "IPv6 has a file of its own"},
        BadCase{"# gap\n\tnexthop via 192.0.2.1 dev wan", 2, 2, "a next hop without its route"},
        BadCase{"default dev wan\n\n\tnexthop dev wan", 3, 2, "a next hop without its route"},
        BadCase{"default dev wan\n\tnexthop dev lan", 2, 2, "either 'via' and 'dev' of its own"},
        BadCase{"default # a\n nexthop dev wan # b\n\tnexthop dev wna\ndefault dev wan", 3, 14, "'wan'?"},
        BadCase{"default\n\tnexthop dev wan\r\ndefault\n\tnexthop dev lan", 3, 1, "in line 1 already"},
        BadCase{"default\n\tnexthop dev wan\rnexthop dev lan", 2, 17, "carriage return within"},
        BadCase{"blackhole default\n\tnexthop dev wan", 2, 2, "found 'nexthop'"},
        BadCase{"throw 10.0.0.0/8", 1, 1, "leave the route out or write 'unreachable'"},
        BadCase{"local 192.0.2.1 dev lan", 1, 1, "the key 'addresses'"},
        BadCase{"prohbit 10.0.0.0/8", 1, 1, "did you mean 'prohibit'?"},
        BadCase{"10.0.0.0/8 dev wan\n11.0.0.0/8 dev wan\n11.0.0.0/8 dev lan metric 0\n10.0.0.0/8 dev lan", 3, 1,
                "the route to 11.0.0.0/8 with metric 0 is in line 2 already"},
        BadCase{"10.0.0.0/8 dev wan\n# gap\n  10.0.0.0/8 dev wan\n10.0.0.0/8 dev wan", 3, 3, "is in line 1 already"},
        BadCase{"blackhole 11.0.0.0/8\n10.0.0.0/8 dev wan\n\nunreachable 11.0.0.0/8", 4, 1, "is in line 1 already"}));

INSTANTIATE_TEST_SUITE_P(
    NextHops, RouteErrors,
    ::testing::Values(
        BadCase{"10.0.0.0/8 dev wna", 1, 16, "expected the name of a port, found 'wna'; did you mean 'wan'?"},
        BadCase{"10.0.0.0/8 dev ethernet17", 1, 16, "valid here: wan, lan, dmz"},
        BadCase{"10.0.0.0/8", 1, 11, "expected 'via ADDRESS dev PORT', 'dev PORT' or 'nexthop'"},
        BadCase{"10.0.0.0/8 metric 5", 1, 20, "expected 'via ADDRESS dev PORT', 'dev PORT' or 'nexthop'"},
        BadCase{"10.0.0.0/8 via 192.0.2.1", 1, 16, "'dev PORT' is missing in the next hop"},
        BadCase{"10.0.0.0/8 via 192.0.2.1 dev", 1, 29, "expected the name of a port, found the end of the line"},
        BadCase{"10.0.0.0/8 via dev wan", 1, 16, "expected an IPv4 address (A.B.C.D), found 'dev'"},
        BadCase{"10.0.0.0/8 via 192.0.2.1/24 dev wan", 1, 16, "expected an IPv4 address (A.B.C.D)"},
        BadCase{"10.0.0.0/8 via fe80::1 dev wan", 1, 16, "write 'via inet6' before a gateway of IPv6"},
        BadCase{"10.0.0.0/8 via 224.0.0.1 dev wan", 1, 16, "it is not unicast"},
        BadCase{"10.0.0.0/8 via 0.0.0.0 dev wan", 1, 16, "it is not unicast"},
        BadCase{"10.0.0.0/8 vai 192.0.2.1 dev wan", 1, 12, "did you mean 'via'?"},
        BadCase{"10.0.0.0/8 dev wan dev lan", 1, 20, "'dev' is given twice"},
        BadCase{"10.0.0.0/8 dev wan table 100", 1, 20, "there is one table"},
        BadCase{"10.0.0.0/8 via inet6 dev wan", 1, 22, "expected an IPv6 address (X:X::X), found 'dev'"},
        BadCase{"10.0.0.0/8 via inet6 192.0.2.1 dev wan", 1, 22, "expected an IPv6 address"},
        BadCase{"10.0.0.0:8 dev wan", 1, 1, "expected a prefix (A.B.C.D/LENGTH), found '10.0.0.0:8'"},
        BadCase{"blackhole 10.0.0.0/8 dev", 1, 25, "expected the name of an interface, found the end of the line"},
        BadCase{"nat 10.0.0.0/8 via 192.0.2.1", 1, 1, "Linux has no such routes any more"},
        BadCase{"10.0.0.0/8 dev wan linkdwon", 1, 20, "did you mean 'linkdown'?"},
        BadCase{"10.0.0.0/8 dev wan mtu lock", 1, 28, "expected a value of 'mtu', found the end of the line"},
        BadCase{"10.0.0.0/8 dev wan metric 1 metric 2", 1, 29, "'metric' is given twice"},
        BadCase{"10.0.0.0/8 dev wan metric 4294967296", 1, 27, "expected a metric from 0 to 4294967295"},
        BadCase{"10.0.0.0/8 dev wan metric -1", 1, 27, "expected a metric from 0 to 4294967295"},
        BadCase{"10.0.0.0/8 dev wan metric", 1, 26, "expected a metric, found the end of the line"},
        BadCase{"10.0.0.0/8 dev wan weight 2", 1, 20, "expected more of the route, found 'weight'"},
        BadCase{"10.0.0.0/8 dev wan proto", 1, 25, "expected a value of 'proto', found the end of the line"},
        BadCase{"10.0.0.0/8 nexthop", 1, 12, "'dev PORT' is missing in the next hop"},
        BadCase{"10.0.0.0/8 nexthop nexthop dev wan", 1, 12, "'dev PORT' is missing in the next hop"},
        BadCase{"10.0.0.0/8 nexthop dev wan weight 0", 1, 35, "expected a weight from 1 to 256, found '0'"},
        BadCase{"10.0.0.0/8 nexthop dev wan weight 257", 1, 35, "expected a weight from 1 to 256, found '257'"},
        BadCase{"10.0.0.0/8 nexthop dev wan metric 3", 1, 28, "'metric' comes before the first 'nexthop'"},
        BadCase{"10.0.0.0/8 dev wan nexthop dev lan", 1, 20, "either 'via' and 'dev' of its own or next hops"},
        BadCase{"10.0.0.0/8 nexthop dev wan stray", 1, 28, "expected more of the next hop, found 'stray'"},
        BadCase{"blackhole 10.0.0.0/8 via 192.0.2.1", 1, 22, "expected the end of the line, found 'via'"},
        BadCase{"10.0.0.0/8 dev wan \\", 1, 20, "expected more of the route"}));

INSTANTIATE_TEST_SUITE_P(
    Texts, RouteErrors,
    ::testing::Values(BadCase{std::string("10.0.0.0/8 dev wan\n11.0.0.0/8 d\0v wan", 37), 2, 13,
                              "found a NUL byte; expected a text file"},
                      BadCase{"# ok\n" + std::string(70000, 'x'), 2, 1, "the line is longer than 65536 bytes"},
                      BadCase{std::string(50000, 'x'), 1, 1, "found '" + std::string(60, 'x') + "...'"},
                      BadCase{"10.0.0.0/8 dev w\x1b[31m\xff", 1, 16, "found 'w\\x1b[31m\\xff'"},
                      BadCase{"10.0.0.0/8 dev wan\r11.0.0.0/8 dev wan", 1, 19, "carriage return within the line"}));

TEST(Routes, SaysWhyAFileCannotBeRead) {
  const auto message = [](const std::string& file) -> std::string {
    return message_of([&] { read_routes(file, {}); });
  };
  EXPECT_THAT(message("/nonexistent"), StartsWith("/nonexistent: cannot be read: No such file"));
  EXPECT_THAT(message("/tmp"), StartsWith("/tmp: cannot be read: Is a directory"));
  EXPECT_THAT(message("/proc/self/exe"), HasSubstr("found a NUL byte"));
  EXPECT_EQ(read_routes("/dev/null", {}).routes.size(), 0U);
}

/// Returns a random list of the form that the parser returns.
RouteList random_list(std::mt19937& random) {
  const auto below = [&random](std::uint32_t bound) { return random() % bound; };
  RouteList list;
  std::set<RouteTarget> known;
  for (std::uint32_t i = 0; i < 20; ++i) {
    RouteTarget target{static_cast<RouteTarget::Kind>(below(3)), {}};
    for (std::uint32_t hop = 0; target.kind == RouteTarget::Kind::unicast && hop <= below(4); ++hop) {
      NextHop next{.gateway = {}, .port = kThreePorts[below(3)], .weight = static_cast<std::uint16_t>(1 + below(3))};
      if (below(4) != 0) next.gateway = Ipv4Address{0x01000000 + static_cast<std::uint32_t>(random() % 0x7E000000)};
      target.next_hops.push_back(next);
    }
    if (known.insert(target).second) list.targets.push_back(target);
  }
  std::set<std::pair<Ipv4Prefix, std::uint32_t>> used;
  std::map<std::uint32_t, std::uint32_t> numbers;  // The parser numbers targets in the order of their first use.
  std::vector<RouteTarget> met;
  for (std::uint32_t i = 0; i < 200; ++i) {
    Ipv4Prefix prefix{{static_cast<std::uint32_t>(random())}, static_cast<std::uint8_t>(below(33))};
    prefix.address.value &= prefix.mask();
    const std::uint32_t metric = below(2) == 0 ? 0 : static_cast<std::uint32_t>(random());
    if (!used.emplace(prefix, metric).second) continue;
    const auto target = static_cast<std::uint32_t>(below(static_cast<std::uint32_t>(list.targets.size())));
    const auto [number, added] = numbers.emplace(target, static_cast<std::uint32_t>(met.size()));
    if (added) met.push_back(list.targets[target]);
    list.routes.push_back({prefix, metric, number->second});
  }
  list.targets = std::move(met);
  return list;
}

TEST(Routes, WhatIsWrittenIsReadBackAsTheSame) {
  std::mt19937 random(1);
  for (int round = 0; round < 100; ++round) {
    const RouteList list = random_list(random);
    std::ostringstream text;
    write_routes(text, list);
    const RouteList back = parse_three_ports(text.str());
    ASSERT_EQ(back.targets, list.targets);
    ASSERT_EQ(lines_of(back), lines_of(list));
  }
}

}  // namespace
}  // namespace penumbra::control
