// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/rules/address_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "functions/ids/rules/testing.h"
#include "testing/message_of.h"

namespace penumbra::ids {
namespace {

using testing::HasSubstr;

const Variables kVariables{.addresses = {{"NET", "[10.0.0.0/8,!10.1.0.0/16,2001:db8::/32]"},
                                         {"OUT", "!$NET"},
                                         {"LOOP", "[$LOOP]"},
                                         {"BAD", "10.0.0.300"}},
                           .ports = {{"WEB", "[80,8080:8090]"}, {"LOOP", "$LOOP"}}};

Rule rule_with(const std::string& addresses, const std::string& ports) {
  return parse_text("alert tcp " + addresses + " " + ports + " -> any any (sid:1;)", kVariables);
}

struct AddressCase {
  std::string list;
  std::vector<std::string> members, others;
};

TEST(AddressSet, HasTheMembersOfItsList) {
  const std::vector<AddressCase> cases{
      {"any", {"0.0.0.0", "255.255.255.255", "::", "ffff::"}, {}},
      {"10.0.0.1", {"10.0.0.1"}, {"10.0.0.2", "::a00:1"}},
      {"!10.0.0.1", {"10.0.0.0", "10.0.0.2", "::1"}, {"10.0.0.1"}},
      {"10.0.0.7/30", {"10.0.0.4", "10.0.0.7"}, {"10.0.0.3", "10.0.0.8"}},
      {"10.0.0.0/255.255.255.252", {"10.0.0.3"}, {"10.0.0.4"}},
      {"10.0.0.5-10.0.1.2", {"10.0.0.5", "10.0.1.2"}, {"10.0.0.4", "10.0.1.3"}},
      {"2001:db8::1-2001:db8::ff", {"2001:db8::ff"}, {"2001:db8::100", "1.2.3.4"}},
      {"[10.0.0.0/8, !10.1.0.0/16]", {"10.0.0.1", "10.2.0.0"}, {"10.1.2.3", "11.0.0.0"}},
      {"[!10.0.0.0/8,!11.0.0.0/8]", {"9.0.0.1", "12.0.0.1", "::1"}, {"10.0.0.0", "11.1.1.1"}},
      {"![10.0.0.0/8,!10.1.0.0/16]", {"10.1.0.9", "11.0.0.0"}, {"10.0.0.1"}},
      {"$NET", {"10.0.0.1", "2001:db8::1"}, {"10.1.0.1", "2001:db9::"}},
      {"$OUT", {"10.1.0.1", "2001:db9::"}, {"10.0.0.1", "2001:db8::1"}},
      {"[$NET,10.1.0.0/16]", {"10.1.0.1", "10.0.0.1"}, {"11.0.0.1"}},
      {"[10.0.0.0/8,![10.0.0.0/9,!10.5.0.0/16]]", {"10.128.0.0", "10.5.0.1"}, {"10.4.0.0"}},
      {"0.0.0.0/0", {"1.2.3.4"}, {"::"}},
  };
  for (const AddressCase& each : cases) {
    const Rule rule = rule_with(each.list, "any");
    const auto has = [&](const std::string& text) {
      const auto ipv4 = parse_ipv4_address(text);
      return ipv4 ? rule.sources->contains(*ipv4) : rule.sources->contains(parse_ipv6_address(text).value());
    };
    for (const std::string& member : each.members) EXPECT_TRUE(has(member)) << each.list << " " << member;
    for (const std::string& other : each.others) EXPECT_FALSE(has(other)) << each.list << " " << other;
  }
}

struct PortCase {
  std::string list;
  std::vector<std::uint16_t> members, others;
};

TEST(PortSet, HasTheMembersOfItsList) {
  const std::vector<PortCase> cases{{"any", {0, 65535}, {}},
                                    {"80", {80}, {79, 81}},
                                    {"!80", {0, 79, 81, 65535}, {80}},
                                    {"1024:", {1024, 65535}, {1023}},
                                    {":1024", {0, 1024}, {1025}},
                                    {"[80,443:445,!444]", {80, 443, 445}, {444, 81}},
                                    {"$WEB", {80, 8080, 8090}, {81, 8091}},
                                    {"[$WEB,!8081]", {8080, 8082}, {8081}},
                                    {"[1:80,![2,4]]", {1, 3, 80}, {2, 4, 81}},
                                    {"!$WEB", {81, 0}, {80}}};
  for (const PortCase& each : cases) {
    const Rule rule = rule_with("any", each.list);
    for (const std::uint16_t member : each.members) EXPECT_TRUE(rule.source_ports->contains(member)) << each.list;
    for (const std::uint16_t other : each.others) EXPECT_FALSE(rule.source_ports->contains(other)) << each.list;
  }
}

struct WrongCase {
  std::string addresses, ports, message;
};

TEST(HeaderSets, RefusesWrongWordsAtTheirPlace) {
  const std::vector<WrongCase> cases{
      {"10.0.0.300", "any", "test.rules:1:11: address is not understood: '10.0.0.300'"},
      {"10.0.0.0/33", "any", "1:11: address is not understood: '10.0.0.0/33'"},
      {"10.0.0.0/255.0.255.0", "any", "address is not understood"},
      {"10.0.0.9-10.0.0.1", "any", "address is not understood"},
      {"[10.0.0.1,10.0.0.x]", "any", "1:21: address is not understood: '10.0.0.x'"},
      {"[10.0.0.1,,10.0.0.2]", "any", "1:21: address is not understood: '' is empty"},
      {"[10.0.0.1", "any", "address is not understood"},
      {"!any", "any", "matches nothing"},
      {"[10.0.0.0/9,!10.0.0.0/8]", "any", "matches nothing"},
      {"$NOWHERE", "any", "1:11: address variable is not defined: '$NOWHERE'"},
      {"$LOOP", "any", "1:11: address is not understood: '$LOOP': '[$LOOP]' is nested too deep"},
      {"$BAD", "any", "1:11: address is not understood: '$BAD': '10.0.0.300'"},
      {"any", "65536", "1:15: port is not understood: '65536'"},
      {"any", "90:80", "port is not understood"},
      {"any", ":", "port is not understood"},
      {"any", "http", "port is not understood"},
      {"any", "$NOWHERE", "port variable is not defined"},
      {"any", "$LOOP", "is nested too deep"},
      {"any", "[80", "has no closing ']'"},
      {"any", "![0:]", "matches nothing"}};
  for (const WrongCase& each : cases) {
    EXPECT_THAT(message_of([&] { rule_with(each.addresses, each.ports); }), HasSubstr(each.message))
        << each.addresses << " " << each.ports;
  }
}

}  // namespace
}  // namespace penumbra::ids
