// SPDX-License-Identifier: Apache-2.0
//
// Features of the trie only: nodes.
#include "tables/ipv6_trie/ipv6_trie.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/random.h"
#include "base/testing_grace_periods.h"
#include "tables/ipv6/ipv6_testing.h"
#include "tables/ipv6_trie/ipv6_trie.shader.h"

namespace penumbra {

std::unique_ptr<Ipv6Lookup> ipv6_testing::make_table(GracePeriods& grace_periods) {
  return std::make_unique<Ipv6Trie>(grace_periods);
}

namespace {

using ipv6_testing::prefix;

TEST(Ipv6Trie, HasANodeForEachByteBeyondTheRoot) {
  NoReaders no_readers;
  Ipv6Trie table(no_readers);
  table.insert(prefix("2000::/24"), 1);
  EXPECT_EQ(table.nodes(), 0U);
  table.insert(prefix("2000::/25"), 1);
  EXPECT_EQ(table.nodes(), 1U);
  table.insert(prefix("2000::/32"), 1);
  EXPECT_EQ(table.nodes(), 1U);
  table.insert(prefix("2000::/128"), 1);
  EXPECT_EQ(table.nodes(), 13U);
  table.remove(prefix("2000::/128"));
  EXPECT_EQ(table.nodes(), 1U);
  table.remove(prefix("2000::/32"));
  table.remove(prefix("2000::/25"));
  EXPECT_EQ(table.nodes(), 0U);
}

std::uint32_t root_entry(Ipv6Trie& table, std::uint64_t high) {
  return static_cast<const ipv6_trie_view*>(table.table().view())->entries[high >> (64 - IPV6_TRIE_ROOT_BITS)];
}

TEST(Ipv6Trie, ReusesANodeOnlyAfterItsGracePeriod) {
  ManualGracePeriods grace_periods;
  Ipv6Trie table(grace_periods);
  table.insert(prefix("2000::/32"), 1);
  const std::uint32_t node = root_entry(table, prefix("2000::/32").address.high);
  table.remove(prefix("2000::/32"));
  table.insert(prefix("2001::/32"), 2);
  EXPECT_NE(root_entry(table, prefix("2001::/32").address.high), node) << "a reader may still be in it";
  grace_periods.finished = grace_periods.started;
  table.insert(prefix("2002::/32"), 3);
  EXPECT_EQ(root_entry(table, prefix("2002::/32").address.high), node);
  EXPECT_EQ(grace_periods.waits, 0);
}

}  // namespace
}  // namespace penumbra
