// SPDX-License-Identifier: Apache-2.0
//
// An IPv6 table as a mirror of its memory sees it. Compiled into each table's test program.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "base/testing_grace_periods.h"
#include "penumbra/huge_memory.h"
#include "tables/copying_mirror.h"
#include "tables/ipv6/ipv6_lookup.h"
#include "tables/ipv6/ipv6_testing.h"

namespace penumbra {
namespace {

using ipv6_testing::nested_prefixes;

TEST(Ipv6Mirror, EqualsTheOwnersMemoryAfterChangesAndLoads) {
  ManualGracePeriods grace_periods;
  const auto table = ipv6_testing::make_table(grace_periods);
  CopyingMirror mirror;
  table->insert(ipv6_testing::prefix("2001:db8::1/128"), 9);
  table->table().attach(mirror);
  EXPECT_TRUE(mirror.equals_sources());
  constexpr std::size_t kPrefixes = 3'000 / kSanitizerScale;
  Random random(3);
  const auto prefixes = nested_prefixes(kPrefixes, random);
  std::vector<Ipv6Entry> loaded;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < 2 * kPrefixes; ++i) {
      const Ipv6Prefix each = prefixes[random.below(kPrefixes)];
      if (random.below(3) == 0) {
        table->remove(each);
      } else {
        table->insert(each, static_cast<std::uint16_t>(random.below(Ipv6Lookup::kMaxNextHops)));
      }
      if (i % 100 == 0) table->commit();
      if (i % 100 == 50) grace_periods.finished = grace_periods.started;
    }
    EXPECT_TRUE(mirror.equals_sources());
    loaded = prefix_testing::entries_of(*table);
    loaded.resize(loaded.size() / 2);
    table->load(loaded);
    EXPECT_TRUE(mirror.equals_sources());
  }
  EXPECT_GE(mirror.publishes, 4) << "at first, and of each load";
  EXPECT_EQ(mirror.commits, 3 * ((2 * kPrefixes + 99) / 100));
  table->table().detach(mirror);
}

}  // namespace
}  // namespace penumbra
