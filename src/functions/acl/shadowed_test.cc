// SPDX-License-Identifier: Apache-2.0
#include "functions/acl/shadowed.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penumbra::acl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::size_t kAll = 1'000'000;

std::vector<Shadowed> shadowed(const std::string& text, Family family = Family::both, std::size_t most = kAll) {
  return find_shadowed(parse_entries(text, "list", family), fields_of(family), most);
}

TEST(Shadowed, AreFoundByOneEarlierEntry) {
  EXPECT_THAT(shadowed("permit src 10.0.0.0/8\ndeny src 10.1.0.0/16\n"), ElementsAre(Shadowed{1, 0}));
  EXPECT_THAT(shadowed("deny src 10.1.0.0/16\npermit src 10.0.0.0/8\n"), IsEmpty());
  EXPECT_THAT(shadowed("permit proto tcp dport 100-200\ndeny proto tcp dport 110-120\n"), ElementsAre(Shadowed{1, 0}));
  EXPECT_THAT(shadowed("permit\ndeny ipv6 proto 103\npermit src 192.0.2.1\n"),
              ElementsAre(Shadowed{1, 0}, Shadowed{2, 0}));
  EXPECT_THAT(shadowed("permit ipv4\ndeny src 2001:db8::/32\n"), IsEmpty());
  // Two that cover a third one together.
  EXPECT_THAT(shadowed("deny src 10.0.0.0/9\ndeny src 10.128.0.0/9\npermit src 10.0.0.0/8\n"), IsEmpty());
  EXPECT_THAT(shadowed("permit\npermit\npermit\n", Family::ipv4, 1), ElementsAre(Shadowed{1, 0}));
}

/// All entries have one mask and other ports, so that each is compared with all before it.
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
