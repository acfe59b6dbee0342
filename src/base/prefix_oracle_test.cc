// SPDX-License-Identifier: Apache-2.0
#include "base/prefix_oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.h"

namespace penumbra {
namespace {

using testing::ElementsAre;

template <class Family>
struct EntryOf {
  typename Family::Prefix prefix;
  std::uint16_t next_hop = 0;
  bool operator==(const EntryOf&) const = default;
};

Ipv4Address any_address(Random& random, Ipv4) {
  return {static_cast<std::uint32_t>(random.next())};
}
Ipv6Address any_address(Random& random, Ipv6) {
  return {random.next(), random.next()};
}

template <class Family>
class PrefixOracles : public testing::Test {};

using Families = testing::Types<Ipv4, Ipv6>;
TYPED_TEST_SUITE(PrefixOracles, Families);

/// Compares the trie with a search of all entries.
TYPED_TEST(PrefixOracles, FindTheLongestPrefixThroughChanges) {
  using Entry = EntryOf<TypeParam>;
  Random random(1);
  PrefixOracle<TypeParam, Entry> oracle;
  std::vector<Entry> list;
  auto around = any_address(random, TypeParam{});
  for (int change = 0; change < 2'000; ++change) {
    if (change % 50 == 0) around = any_address(random, TypeParam{});
    const auto prefix = TypeParam::Prefix::around(around, random.below(TypeParam::kBits + 1U));
    const Entry entry{prefix, static_cast<std::uint16_t>(random.below(1000))};
    const auto known = std::ranges::find(list, prefix, &Entry::prefix);
    ASSERT_EQ(oracle.find(prefix), known == list.end() ? std::nullopt : std::optional(*known));
    if (random.below(3) == 0) {
      ASSERT_EQ(oracle.remove(prefix), known != list.end());
      if (known != list.end()) list.erase(known);
    } else {
      ASSERT_EQ(oracle.insert(entry), known == list.end());
      if (known != list.end()) list.erase(known);
      list.push_back(entry);
    }
    ASSERT_EQ(oracle.size(), list.size());
    for (const auto address : {around, prefix.last(), any_address(random, TypeParam{})}) {
      std::optional<Entry> best;
      for (const Entry& each : list) {
        if (each.prefix.contains(address) && (!best || each.prefix.length > best->prefix.length)) best = each;
      }
      ASSERT_EQ(oracle.match(address), best);
      ASSERT_EQ(oracle.next_hop(address), best ? best->next_hop : 0xFFFF);
    }
  }
  std::ranges::sort(list, {}, &Entry::prefix);
  EXPECT_EQ(oracle.entries(), list);
  oracle.clear();
  EXPECT_EQ(oracle.size(), 0U);
  EXPECT_EQ(oracle.match(around), std::nullopt);
}

TEST(PrefixOracle, GivesTheEntriesInTheOrderOfAddressThenLength) {
  const std::vector<EntryOf<Ipv4>> entries{
      {{{0x0A010000}, 16}, 1}, {{{0}, 0}, 2}, {{{0x0A000000}, 24}, 3}, {{{0x0A000000}, 8}, 4}};
  const PrefixOracle<Ipv4, EntryOf<Ipv4>> oracle(entries);
  EXPECT_THAT(oracle.entries(), ElementsAre(entries[1], entries[3], entries[2], entries[0]));
}

}  // namespace
}  // namespace penumbra
