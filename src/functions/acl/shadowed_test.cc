// SPDX-License-Identifier: Apache-2.0
#include "functions/acl/shadowed.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/random.h"

namespace penumbra::acl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::size_t kAll = 1'000'000;

std::vector<Shadowed> shadowed(const std::string& text, Family family = Family::both, std::size_t most = kAll) {
  return find_shadowed(parse_entries(text, "list", family), fields_of(family), most);
}

bool takes_port(const RuleMatch& match, unsigned shift, const PortRange& range, std::uint16_t port, std::size_t last) {
  return range.contains(port) && ((match.value[last] >> shift ^ port) & (match.mask[last] >> shift) & 0xFFFF) == 0;
}

/// Returns true if `outer` matches all ports that `inner` matches. Tests each port.
bool covers_ports(const RuleMatch& outer, const RuleMatch& inner, unsigned shift, PortRange RuleMatch::* range,
                  std::size_t last) {
  for (std::uint32_t port = 0; port <= 0xFFFF; ++port) {
    const auto number = static_cast<std::uint16_t>(port);
    if (takes_port(inner, shift, inner.*range, number, last) && !takes_port(outer, shift, outer.*range, number, last)) {
      return false;
    }
  }
  return true;
}

bool covers(const RuleMatch& outer, const RuleMatch& inner, RuleFields fields) {
  const std::size_t last = words_of(fields) - 1;
  for (std::size_t word = 0; word <= last; ++word) {
    const std::uint64_t compared = word == last ? (std::uint64_t{1} << kDestinationPortShift) - 1 : ~std::uint64_t{0};
    if ((outer.mask[word] & ~inner.mask[word] & compared) != 0) return false;
    if (((outer.value[word] ^ inner.value[word]) & outer.mask[word] & compared) != 0) return false;
  }
  return covers_ports(outer, inner, kSourcePortShift, &RuleMatch::source_ports, last) &&
         covers_ports(outer, inner, kDestinationPortShift, &RuleMatch::destination_ports, last);
}

/// Returns an entry of few words, so that one often covers another.
std::string random_entry(Random& random) {
  constexpr std::array kPrefixes{"10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "10.1.2.3"};
  constexpr std::array kPrefixes6{"2001:db8::/32", "2001:db8:1::/48", "2001:db8:1::/80", "2001:db8:1::1"};
  constexpr std::array kPorts{"80", "0-1023", "64-127", "100-200", "110-120", "1-65535"};
  const bool ipv6 = random.below(2) == 0;
  const auto& prefixes = ipv6 ? kPrefixes6 : kPrefixes;
  std::string text = random.below(2) == 0 ? "permit" : "deny";
  for (const char* const word : {" src ", " dst "}) {
    if (random.below(3) != 0) text.append(word).append(prefixes[random.below(prefixes.size())]);
  }
  switch (random.below(4)) {
    case 0:
      text += fmt::format(" proto {}", 17 + random.below(3));
      break;
    case 1:
      text += fmt::format(" {} proto {} icmp-{} 8", ipv6 ? "ipv6" : "ipv4", ipv6 ? "icmpv6" : "icmp",
                          random.below(2) == 0 ? "type" : "code");
      break;
    case 2:
      text += " proto tcp";
      for (const char* const word : {" sport ", " dport "}) {
        if (random.below(2) == 0) text.append(word).append(kPorts[random.below(kPorts.size())]);
      }
      break;
    default:
      text += random.below(2) == 0 ? " fragment any" : "";
  }
  return text + "\n";
}

TEST(Shadowed, AreFoundByOneEarlierEntry) {
  EXPECT_THAT(shadowed("permit src 10.0.0.0/8\ndeny src 10.1.0.0/16\n"), ElementsAre(Shadowed{1, 0}));
  EXPECT_THAT(shadowed("deny src 10.1.0.0/16\npermit src 10.0.0.0/8\n"), IsEmpty());
  EXPECT_THAT(shadowed("permit proto tcp dport 100-200\ndeny proto tcp dport 110-120\n"), ElementsAre(Shadowed{1, 0}));
  EXPECT_THAT(shadowed("permit\ndeny ipv6 proto 103\npermit src 192.0.2.1\n"),
              ElementsAre(Shadowed{1, 0}, Shadowed{2, 0}));
  EXPECT_THAT(shadowed("permit ipv4\ndeny src 2001:db8::/32\n"), IsEmpty());
  // Two entries cover a third entry together.
  EXPECT_THAT(shadowed("deny src 10.0.0.0/9\ndeny src 10.128.0.0/9\npermit src 10.0.0.0/8\n"), IsEmpty());
  EXPECT_THAT(shadowed("permit\npermit\npermit\n", Family::ipv4, 1), ElementsAre(Shadowed{1, 0}));
}

TEST(Shadowed, AreThoseThatEveryPairOfEntriesShows) {
  Random random(7);
  std::size_t found = 0;
  for (int list = 0; list < 20; ++list) {
    std::string text;
    for (int entry = 0; entry < 40; ++entry) text += random_entry(random);
    const auto entries = parse_entries(text, "list", Family::both);
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto by = [&](const Entry& earlier) { return covers(earlier.match, entries[i].match, RuleFields::ipv6); };
      if (std::any_of(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(i), by)) expected.push_back(i);
    }
    std::vector<std::size_t> places;
    for (const auto& [entry, by] : find_shadowed(entries, RuleFields::ipv6, kAll)) {
      places.push_back(entry);
      EXPECT_LT(by, entry);
      EXPECT_TRUE(covers(entries[by].match, entries[entry].match, RuleFields::ipv6)) << text;
    }
    EXPECT_EQ(places, expected) << text;
    found += places.size();
  }
  EXPECT_GT(found, 100U);
}

/// All entries have the same mask and different ports, so that each is compared with all earlier entries.
TEST(Shadowed, EndWithTheComparisons) {
  std::string text;
  for (int port = 1; port < 1000; ++port) text += fmt::format("deny proto tcp dport {}-{}\n", port, port + 2000);
  text += "permit proto tcp dport 1-2001\n";
  const auto entries = parse_entries(text, "list", Family::both);
  EXPECT_THAT(find_shadowed(entries, RuleFields::ipv6, kAll, 10'000), IsEmpty());
  EXPECT_THAT(find_shadowed(entries, RuleFields::ipv6, kAll), ElementsAre(Shadowed{999, 0}));
}

TEST(Shadowed, OfALongListTakeFewComparisons) {
  std::string text;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    text += fmt::format("deny src 10.{}.{}.{} dst 192.0.2.0/{} proto tcp dport {}\n", i >> 16, i >> 8 & 0xFF, i & 0xFF,
                        24 + i % 4, i % 7);
  }
  text += "permit src 10.1.0.0 dst 192.0.2.0/28 proto tcp dport 2\n";
  const auto entries = parse_entries(text, "list", Family::ipv4);
  EXPECT_THAT(find_shadowed(entries, RuleFields::ipv4, kAll, 1'000'000), ElementsAre(Shadowed{100'000, 65'536}));
}

}  // namespace
}  // namespace penumbra::acl
