// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "cli/input_lines.h"
#include "cli/route_lookup.h"
#include "cli/test_program.h"
#include "control/route_generator.h"
#include "penumbra/engine.h"

namespace penumbra::cli {
namespace {

using testing::HasSubstr;

class LookupTest : public testing::Test {
 protected:
  LookupTest() {
    std::ofstream(routes_) << "10.0.0.0/8 via 192.0.2.1 dev wan\n"
                              "10.1.0.0/16 dev lan\n"
                              "10.1.2.128/25 nexthop via 192.0.2.1 dev wan weight 3 nexthop via 192.0.2.2 dev lan\n"
                              "blackhole 10.9.0.0/16\nunreachable 10.8.0.0/16\n";
  }
  Outcome look_up(const std::string& input, std::vector<std::string> words = {}) {
    words.insert(words.begin(), {"lookup", "--routes", routes_});
    return run(words, input);
  }

  ScratchFolder folder_;
  std::string routes_ = (folder_ / "routes.txt").string();
};

TEST_F(LookupTest, SaysWhereAddressesLead) {
  const Outcome outcome = look_up(
      "10.0.0.1\n\n# a comment\n  10.1.0.1  # one more\r\n10.1.2.129\n10.9.0.1\n10.8.0.1\n192.0.2.1\n192.0.2.9");
  EXPECT_EQ(outcome.errors, "penumbra: " + routes_ +
                                ": no route for 192.0.2.1 and for 1 more; add one, or a default "
                                "route: default via GATEWAY dev PORT\n");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.output,
            "10.0.0.1 10.0.0.0/8 via 192.0.2.1 dev wan\n"
            "10.1.0.1 10.1.0.0/16 dev lan\n"
            "10.1.2.129 10.1.2.128/25 nexthop via 192.0.2.1 dev wan weight 3 nexthop via 192.0.2.2 dev lan weight 1\n"
            "10.9.0.1 unreachable\n"
            "10.8.0.1 unreachable\n"
            "192.0.2.1 unreachable\n"
            "192.0.2.9 unreachable\n");
}

TEST_F(LookupTest, WritesAnObjectALine) {
  const Outcome outcome = look_up("10.1.2.129\n10.9.0.1\n192.0.2.1\n", {"-j"});
  std::istringstream lines(outcome.output);
  std::vector<nlohmann::json> found;
  for (std::string line; std::getline(lines, line);) found.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0]["address"], "10.1.2.129");
  EXPECT_EQ(found[0]["prefix"], "10.1.2.128/25");
  EXPECT_EQ(found[0]["type"], "unicast");
  EXPECT_EQ(found[0]["next_hops"], nlohmann::json({{{"via", "192.0.2.1"}, {"dev", "wan"}, {"weight", 3}},
                                                   {{"via", "192.0.2.2"}, {"dev", "lan"}, {"weight", 1}}}));
  EXPECT_EQ(found[1]["type"], "blackhole");
  EXPECT_EQ(found[2]["type"], "no_route");
}

TEST_F(LookupTest, TakesAddressesOfTheCommandLine) {
  const Outcome outcome = look_up("192.0.2.1\n", {"10.0.0.1", "10.1.0.1"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.output, "10.0.0.1 10.0.0.0/8 via 192.0.2.1 dev wan\n10.1.0.1 10.1.0.0/16 dev lan\n");
  const Outcome wrong = look_up("", {"10.0.0.1", "10.0.0"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_EQ(wrong.output, "");
  EXPECT_THAT(wrong.errors, HasSubstr("expected an IPv4 address, found '10.0.0'"));
  EXPECT_EQ(look_up("", {"10.0.0.1", "2001:db8::1"}).exit_code, 2);
  std::ofstream(routes_) << "2001:db8::/32 dev lan\n";
  EXPECT_EQ(look_up("", {"2001:db8::1"}).output, "2001:db8::1 2001:db8::/32 dev lan\n") << "-6 goes without saying";
}

TEST_F(LookupTest, AnswersUpToABadAddressAndSaysWhereItStands) {
  const Outcome outcome = look_up("10.0.0.1\n\n10.0.0\n10.0.0.2\n");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.output, "10.0.0.1 10.0.0.0/8 via 192.0.2.1 dev wan\n");
  EXPECT_THAT(outcome.errors, HasSubstr("-:3:1: "));
}

TEST_F(LookupTest, SaysWhereARouteIsWrong) {
  std::ofstream(routes_) << "10.0.0.0/8 via 192.0.2.1 dev wan\n10.0.0.1/8 dev wan\n";
  const Outcome outcome = look_up("");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.errors, HasSubstr("routes.txt:2:"));
}

TEST(InputLines, GivesWhatThereIsAndJoinsBrokenLines) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  InputLines lines(ends[0]);
  const auto send = [&](std::string_view text) {
    ASSERT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  };
  send("one\ntwo\nthr");
  EXPECT_THAT(lines.next(), testing::ElementsAre("one", "two"));
  send("ee\n");
  EXPECT_THAT(lines.next(), testing::ElementsAre("three"));
  send("last");
  close(ends[1]);
  EXPECT_THAT(lines.next(), testing::ElementsAre("last"));
  EXPECT_THAT(lines.next(), testing::IsEmpty());
  close(ends[0]);
}

TEST_F(LookupTest, SaysWhereIpv6AddressesLead) {
  std::ofstream(routes_) << "2001:db8::/32 via fe80::1 dev wan\n"
                            "2001:db8:1::/48 dev lan\n"
                            "2001:db8:1::80/121 nexthop via fe80::1 dev wan weight 3 nexthop via 2001:db8::2 dev lan\n"
                            "blackhole 2001:db8:9::/48\ndefault via fe80::9 dev lan\n";
  const Outcome outcome =
      look_up("2001:db8::1\n 2001:DB8:1:0::1 # a comment\n2001:db8:1::ff\n2001:db8:9::1\n::1", {"-6"});
  EXPECT_EQ(outcome.errors, "");
  EXPECT_EQ(outcome.output,
            "2001:db8::1 2001:db8::/32 via fe80::1 dev wan\n"
            "2001:db8:1::1 2001:db8:1::/48 dev lan\n"
            "2001:db8:1::ff 2001:db8:1::80/121 nexthop via fe80::1 dev wan weight 3 nexthop via 2001:db8::2 dev lan "
            "weight 1\n"
            "2001:db8:9::1 unreachable\n"
            "::1 ::/0 via fe80::9 dev lan\n");
  const Outcome json = look_up("2001:db8:1::ff\n2001:db8:9::1", {"--ipv6", "-j"});
  EXPECT_EQ(
      json.output,
      "{\"address\":\"2001:db8:1::ff\",\"prefix\":\"2001:db8:1::80/121\",\"type\":\"unicast\",\"next_hops\":["
      "{\"via\":\"fe80::1\",\"dev\":\"wan\",\"weight\":3},{\"via\":\"2001:db8::2\",\"dev\":\"lan\",\"weight\":1}]}\n"
      "{\"address\":\"2001:db8:9::1\",\"prefix\":\"2001:db8:9::/48\",\"type\":\"blackhole\"}\n");
  EXPECT_THAT(look_up("10.0.0.1", {"-6"}).errors, HasSubstr("-:1:1: expected an IPv6 address, found '10.0.0.1'"));
  EXPECT_THAT(look_up("10.0.0.1").errors, HasSubstr("routes.txt:1:1"));
}

TEST(RouteLookup, EqualsTheOracleOnAGeneratedTable) {
  const auto routes = control::generate_routes({.prefixes = 20000, .next_hops = 30}).routes;
  std::mt19937 random(1);
  std::vector<Ipv4Address> addresses;
  for (const auto& route : routes.routes) {
    addresses.push_back(route.prefix.address);
    addresses.push_back(route.prefix.last());
    addresses.push_back({route.prefix.last().value + 1});
    addresses.push_back({static_cast<std::uint32_t>(random())});
  }
  std::array<std::unordered_map<std::uint32_t, std::string>, 33> by_length;
  for (const auto& route : routes.routes) {
    by_length[route.prefix.length][route.prefix.address.value] = to_string(routes.targets[route.target]);
  }
  std::vector<std::string> choices;
  for (const auto& engine : engines()) {
    if (engine.probe().available) choices.push_back(engine.name);
  }
  for (const auto& engine : choices) {
    RouteLookup<ipv4::Family> lookup(routes, engine);
    const auto answers = lookup.answer(addresses);
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const std::string* expected = nullptr;
      for (unsigned length = 0; length <= 32; ++length) {
        const std::uint32_t network = length == 0 ? 0 : addresses[i].value >> (32 - length) << (32 - length);
        if (const auto found = by_length[length].find(network); found != by_length[length].end())
          expected = &found->second;
      }
      ASSERT_EQ(answers[i].target == nullptr, expected == nullptr);
      if (expected != nullptr) {
        ASSERT_EQ(*answers[i].target, *expected);
      }
    }
  }
}

}  // namespace
}  // namespace penumbra::cli
