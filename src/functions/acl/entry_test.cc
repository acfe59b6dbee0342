// SPDX-License-Identifier: Apache-2.0
#include "functions/acl/entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "penumbra/errors.h"
#include "penumbra/ip.h"
#include "tables/flows/flow_key.h"
#include "testing/message_of.h"

namespace penumbra::acl {
namespace {

using testing::HasSubstr;

Flow ipv4_flow(const char* source, const char* destination, std::uint8_t protocol, std::uint16_t source_port,
               std::uint16_t destination_port) {
  return {.is_ipv6 = false,
          .source = {0, parse_ipv4_address(source).value().value},
          .destination = {0, parse_ipv4_address(destination).value().value},
          .source_port = source_port,
          .destination_port = destination_port,
          .protocol = protocol};
}
Flow ipv6_flow(const char* source, const char* destination, std::uint8_t protocol, std::uint16_t source_port,
               std::uint16_t destination_port) {
  return {.is_ipv6 = true,
          .source = parse_ipv6_address(source).value(),
          .destination = parse_ipv6_address(destination).value(),
          .source_port = source_port,
          .destination_port = destination_port,
          .protocol = protocol};
}

RuleWords words(const Flow& flow, Family family, const FilterPart& part = {}) {
  RuleWords key{};
  const flow_key of_flow = to_key(flow);
  if (family == Family::ipv4) {
    const rules_narrow_key narrow = narrow_key(of_flow, part);
    std::copy(std::begin(narrow.word), std::end(narrow.word), key.begin());
  } else {
    const rules_key wide = wide_key(of_flow, part);
    std::copy(std::begin(wide.word), std::end(wide.word), key.begin());
  }
  return key;
}

/// True if the only entry of the text matches, in lists of every family that may contain it.
bool hits(const std::string& text, const Flow& flow, const FilterPart& part = {}) {
  bool hit = false;
  for (const Family family : {Family::both, flow.is_ipv6 ? Family::ipv6 : Family::ipv4}) {
    const auto entries = parse_entries(text, "list", family);
    EXPECT_EQ(entries.size(), 1U);
    const bool here = matches(entries.at(0).match, fields_of(family), words(flow, family, part));
    EXPECT_TRUE(family == Family::both || here == hit) << text;
    hit = here;
  }
  return hit;
}

TEST(AclEntry, MatchesWhatItsWordsSay) {
  const Flow web = ipv4_flow("10.1.2.3", "192.0.2.1", ip_protocol::kTcp, 40000, 80);
  EXPECT_TRUE(hits("permit", web));
  EXPECT_TRUE(hits("permit ipv4", web));
  EXPECT_TRUE(hits("permit src 10.0.0.0/8", web));
  EXPECT_TRUE(hits("permit src 10.1.2.3 dst 192.0.2.0/24 proto tcp sport 1024-65535 dport 80", web));
  EXPECT_FALSE(hits("permit src 10.1.2.4", web));
  EXPECT_FALSE(hits("permit dst 10.0.0.0/8", web));
  EXPECT_FALSE(hits("permit proto udp", web));
  EXPECT_FALSE(hits("permit proto tcp sport 0-39999", web));
  EXPECT_FALSE(hits("permit proto tcp dport 81-90", web));
  EXPECT_TRUE(hits("permit proto tcp dport 79-81", web));
  EXPECT_TRUE(hits("permit proto 6", web));

  const Flow name = ipv6_flow("2001:db8::1", "2001:db8:1::53", ip_protocol::kUdp, 5353, 53);
  EXPECT_TRUE(hits("deny", name));
  EXPECT_TRUE(hits("deny ipv6 proto udp dport 53", name));
  EXPECT_TRUE(hits("deny src 2001:db8::/64 dst 2001:db8:1::/48", name));
  EXPECT_FALSE(hits("deny src 2001:db8:0:1::/64", name));
  EXPECT_FALSE(hits("deny dst 2001:db8:1::54", name));

  const Flow echo = ipv4_flow("10.0.0.1", "10.0.0.2", ip_protocol::kIcmp, 0, 8 << 8);
  EXPECT_TRUE(hits("permit proto icmp icmp-type 8", echo));
  EXPECT_TRUE(hits("permit proto icmp icmp-type 8 icmp-code 0", echo));
  EXPECT_FALSE(hits("permit proto icmp icmp-type 8 icmp-code 1", echo));
  EXPECT_FALSE(hits("permit proto icmp icmp-type 0", echo));
}

TEST(AclEntry, KeepsTheFamiliesApartInAListOfBoth) {
  const Family both = Family::both;
  const auto matches_flow = [&](const char* text, const Flow& flow) {
    return matches(parse_entries(text, "list", both).at(0).match, fields_of(both), words(flow, both));
  };
  // The words of ::a00:1 equal those of 10.0.0.1.
  const Flow disguised = ipv6_flow("::a00:1", "::a00:2", ip_protocol::kTcp, 1, 2);
  EXPECT_FALSE(matches_flow("permit src 10.0.0.0/8", disguised));
  EXPECT_FALSE(matches_flow("permit ipv4", disguised));
  EXPECT_TRUE(matches_flow("permit ipv6", disguised));
  EXPECT_TRUE(matches_flow("permit src ::/0", disguised));
  EXPECT_FALSE(matches_flow("permit src ::/0", ipv4_flow("10.0.0.1", "10.0.0.2", ip_protocol::kTcp, 1, 2)));
  EXPECT_TRUE(matches_flow("permit src 0.0.0.0/0", ipv4_flow("10.0.0.1", "10.0.0.2", ip_protocol::kTcp, 1, 2)));
}

TEST(AclEntry, DoesNotLookAtVlans) {
  Flow tagged = ipv4_flow("10.0.0.1", "10.0.0.2", ip_protocol::kTcp, 1, 2);
  tagged.vlan = 5;
  EXPECT_TRUE(hits("permit src 10.0.0.1 dst 10.0.0.2 proto tcp sport 1 dport 2", tagged));
}

TEST(AclEntry, NamesFragments) {
  const Flow udp = ipv4_flow("10.0.0.1", "10.0.0.2", ip_protocol::kUdp, 0, 0);
  const FilterPart whole, first{.is_fragment = true}, later{.is_fragment = true, .is_later_fragment = true};
  const auto expect = [&](const char* text, bool of_whole, bool of_first, bool of_later) {
    EXPECT_EQ(hits(text, udp, whole), of_whole) << text;
    EXPECT_EQ(hits(text, udp, first), of_first) << text;
    EXPECT_EQ(hits(text, udp, later), of_later) << text;
  };
  expect("deny fragment any", false, true, true);
  expect("deny fragment first", false, true, false);
  expect("deny proto udp fragment later", false, false, true);
  expect("deny fragment none", true, false, false);
  expect("deny", true, true, true);
  // A later fragment has no ports; its ports do not count as 0.
  expect("deny proto udp dport 0-1023", true, true, false);
  expect("deny proto udp sport 0 fragment first", false, true, false);
  const Flow reply = ipv6_flow("2001:db8::1", "2001:db8::2", ip_protocol::kIcmpv6, 0, 0);
  EXPECT_TRUE(hits("deny proto icmpv6 icmp-type 0", reply, first));
  EXPECT_FALSE(hits("deny proto icmpv6 icmp-type 0", reply, later));
}

TEST(AclEntry, NamesExtensionHeaders) {
  const Flow udp = ipv6_flow("2001:db8::1", "2001:db8::2", ip_protocol::kUdp, 1, 53);
  using namespace ipv6_extension;
  const std::vector<std::pair<std::string, std::uint8_t>> headers{{"hbh", kHopByHopBit},
                                                                  {"rt", kRoutingBit},
                                                                  {"frag", kFragmentBit},
                                                                  {"dst", kDestinationBit},
                                                                  {"ah", kAuthenticationBit}};
  for (const auto& [word, bit] : headers) {
    const std::string text = "deny proto udp dport 53 exthdr " + word;
    EXPECT_TRUE(hits(text, udp, {.extension_headers = bit})) << word;
    EXPECT_TRUE(hits(text, udp, {.extension_headers = 31})) << word;
    EXPECT_FALSE(hits(text, udp, {.extension_headers = static_cast<std::uint8_t>(31 - bit)})) << word;
  }
  const Flow ipv4 = ipv4_flow("10.0.0.1", "10.0.0.2", ip_protocol::kUdp, 1, 53);
  const auto entries = parse_entries("deny exthdr rt", "list", Family::both);
  EXPECT_FALSE(matches(entries[0].match, fields_of(Family::both), words(ipv4, Family::both)));
}

TEST(AclEntry, KeepsItsWordsAndItsLine) {
  const auto entries = parse_entries("# a list\n\n  permit   src 10.0.0.0/8\t# trusted\ndeny\n", "list", Family::both);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_TRUE(entries[0].permits);
  EXPECT_EQ(entries[0].text, "permit src 10.0.0.0/8");
  EXPECT_EQ(entries[0].line, 3U);
  EXPECT_FALSE(entries[1].permits);
  EXPECT_EQ(entries[1].line, 4U);
}

class BadEntry : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(BadEntry, IsRefusedWithItsPlace) {
  const auto& [text, message] = GetParam();
  EXPECT_THAT(message_of([&] { parse_entries(text, "list", Family::both); }), HasSubstr(message)) << text;
}

INSTANTIATE_TEST_SUITE_P(
    All, BadEntry,
    testing::Values(std::tuple("allow", "list:1:1: "), std::tuple("permit\n permti", "list:2:2: "),
                    std::tuple("permit src", "list:1:"), std::tuple("permit src 10.0.0.1/8", "list:1:12: "),
                    std::tuple("permit src 10.0.0.0/33", "list:1:12: "),
                    std::tuple("permit src nowhere", "list:1:12: "),
                    std::tuple("permit src 10.0.0.1 dst 2001:db8::1", "list:1:25: "),
                    std::tuple("permit ipv6 src 10.0.0.1", "list:1:17: "),
                    std::tuple("permit src 10.0.0.1 src 10.0.0.2", "list:1:21: 'src' again"),
                    std::tuple("permit proto tpc", "did you mean 'tcp'?"),
                    std::tuple("permit proto 256", "list:1:14: "), std::tuple("permit sport 80", "list:1:8: "),
                    std::tuple("permit proto icmp dport 80", "list:1:19: "),
                    std::tuple("permit proto tcp dport 80-79", "list:1:24: "),
                    std::tuple("permit proto tcp dport 65536", "list:1:24: "),
                    std::tuple("permit proto tcp dport 1-2-3", "list:1:24: "),
                    std::tuple("permit proto tcp icmp-type 8", "list:1:18: "),
                    std::tuple("permit proto icmp icmp-type 300", "list:1:29: "),
                    std::tuple("permit protto tcp", "did you mean 'proto'?"), std::tuple("deny fragment", "list:1:"),
                    std::tuple("deny fragment last", "list:1:15: "), std::tuple("deny exthdr route", "list:1:13: "),
                    std::tuple("deny src 10.0.0.1 exthdr rt", "list:1:19: "),
                    std::tuple("deny proto udp dport 53 fragment later", "list:1:34: "),
                    std::tuple("deny proto icmp icmp-type 8 fragment later", "list:1:38: ")));

/// No packet can match these entries. The message must give advice.
INSTANTIATE_TEST_SUITE_P(
    WithoutPackets, BadEntry,
    testing::Values(std::tuple("permit\ndeny ipv6 proto 44", "list:2:17: no IPv6 packet matches 'proto 44'"),
                    std::tuple("deny ipv6 proto 44",
                               "'exthdr frag' for IPv6 packets with such a header, 'fragment any'"),
                    std::tuple("deny proto 44", "and 'ipv4' before it if it is for IPv4 only"),
                    std::tuple("deny proto 0 src 2001:db8::/32", "list:1:12: "),
                    std::tuple("deny ipv6 proto 0", "'exthdr hbh'"), std::tuple("deny ipv6 proto 43", "'exthdr rt'"),
                    std::tuple("deny ipv6 proto 51", "'exthdr ah'"), std::tuple("deny ipv6 proto ah", "'exthdr ah'"),
                    std::tuple("deny ipv6 proto 60", "'exthdr dst'"),
                    std::tuple("deny ipv6 proto 140", "name the protocol after it"),
                    std::tuple("deny ipv6 proto icmp icmp-type 8", "of IPv6 only 'proto icmpv6'"),
                    std::tuple("deny ipv4 proto icmpv6 icmp-type 8", "of IPv4 only 'proto icmp'")));

TEST(AclEntry, OfIpv4MayHaveAnyProtocol) {
  EXPECT_TRUE(hits("deny ipv4 proto 44", ipv4_flow("10.0.0.1", "10.0.0.2", 44, 0, 0)));
  EXPECT_EQ(parse_entries("deny proto ah", "list", Family::ipv4).size(), 1U);
  EXPECT_THROW(parse_entries("deny proto ah", "list", Family::ipv6), InputError);
}

TEST(AclEntry, OfTheOtherFamilyIsRefused) {
  EXPECT_THROW(parse_entries("permit src 10.0.0.1", "list", Family::ipv6), InputError);
  EXPECT_THROW(parse_entries("permit ipv6", "list", Family::ipv4), InputError);
}

}  // namespace
}  // namespace penumbra::acl
