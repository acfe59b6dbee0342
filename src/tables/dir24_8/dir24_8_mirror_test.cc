// SPDX-License-Identifier: Apache-2.0
//
// The IPv4 table as a mirror of its memory sees it.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "base/sanitizer_scale.h"
#include "base/testing_grace_periods.h"
#include "dir24_8.h"
#include "dir24_8.shader.h"
#include "dir24_8_testing.h"
#include "tables/copying_mirror.h"

namespace penumbra {
namespace {

using dir24_8_testing::Oracle;
using dir24_8_testing::prefix;
using dir24_8_testing::prefix_of;
using prefix_testing::entries_of;

TEST(Dir24_8Mirror, EqualsTheOwnersMemoryAfterChangesAndLoads) {
  NoReaders no_readers;
  Dir24_8 table(no_readers);
  CopyingMirror mirror;
  table.insert(prefix("10.0.0.1/32"), 9);
  table.table().attach(mirror);
  EXPECT_TRUE(mirror.equals_sources());
  std::mt19937 random(3);
  constexpr int kChanges = 20'000 / kSanitizerScale;
  Oracle oracle;
  std::vector<Dir24_8::Entry> loaded;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kChanges; ++i) {
      // The prefixes are in two /16s, so that they overlap. Short prefixes are rare because they are slow.
      const unsigned length = random() % 100 == 0 ? 8 + random() % 8 : 16 + random() % 17;
      const Ipv4Prefix each = prefix_of(0x0A000000U | random() % (1U << 17), length);
      if (random() % 3 == 0) {
        table.remove(each);
      } else {
        table.insert(each, static_cast<std::uint16_t>(random() % Dir24_8::kMaxNextHops));
      }
      if (i % 100 == 0) table.commit();
    }
    EXPECT_TRUE(mirror.equals_sources());
    loaded = entries_of(table);
    loaded.resize(loaded.size() / 2);
    table.load(loaded);
    EXPECT_TRUE(mirror.equals_sources());
  }
  EXPECT_EQ(mirror.commits, 3 * ((kChanges + 99) / 100));

  for (const auto& [each, next_hop] : loaded) oracle.insert({each, next_hop});
  for (const auto& entry : loaded) {
    std::uint16_t found = 0;
    dir24_8_lookup(mirror.view<dir24_8_view>(), &entry.prefix.address.value, &found, 1);
    ASSERT_EQ(found, oracle.next_hop(entry.prefix.address));
  }
  table.table().detach(mirror);
}

TEST(Dir24_8Mirror, IsToldOfNoMoreThanWhatAChangeRewrote) {
  NoReaders no_readers;
  Dir24_8 table(no_readers);
  CopyingMirror mirror;
  table.table().attach(mirror);
  table.insert(prefix("10.1.2.0/24"), 1);
  EXPECT_EQ(mirror.bytes_copied, 2U);
  table.insert(prefix("10.1.2.0/24"), 1);
  EXPECT_EQ(mirror.bytes_copied, 2U) << "nothing changed";
  table.insert(prefix("10.1.0.0/16"), 2);
  EXPECT_EQ(mirror.bytes_copied, 2U + 512U) << "one copy over the gap of the /24";
  table.table().detach(mirror);
}

}  // namespace
}  // namespace penumbra
