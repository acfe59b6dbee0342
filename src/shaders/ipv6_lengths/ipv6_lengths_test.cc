// SPDX-License-Identifier: Apache-2.0
//
// What only the search on lengths has: its tree of lengths, and markers.
#include "shaders/ipv6_lengths/ipv6_lengths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "base/testing_grace_periods.h"
#include "shaders/ipv6/ipv6_oracle.h"
#include "shaders/ipv6_lengths/ipv6_lengths.shader.h"

namespace penumbra {

std::unique_ptr<Ipv6Lookup> ipv6_oracle::make_table(GracePeriods& grace_periods) {
  return std::make_unique<Ipv6Lengths>(grace_periods);
}

namespace {

using ipv6_oracle::prefix;

/// The most steps from a place in the tree of lengths to its end.
unsigned depth(unsigned shorter, unsigned longest) {
  if (shorter == longest) return 0;
  const unsigned middle = ipv6_lengths_middle(shorter, longest);
  EXPECT_GT(middle, shorter);
  EXPECT_LE(middle, longest);
  return 1 + std::max(depth(shorter, middle - 1), depth(middle, longest));
}

TEST(Ipv6Lengths, NeedsSevenProbesAtTheMost) {
  EXPECT_EQ(depth(IPV6_LENGTHS_BASE_BITS, 128), 7U);
}

TEST(Ipv6Lengths, HasSlotsForLongPrefixesAndTheirMarkersOnly) {
  NoReaders no_readers;
  Ipv6Lengths table(no_readers);
  table.insert(prefix("2000::/20"), 1);
  EXPECT_EQ(table.slots(), 0U);
  table.insert(prefix("2001::/48"), 1);
  EXPECT_EQ(table.slots(), 1U);
  table.insert(prefix("2001::/40"), 1);
  EXPECT_EQ(table.slots(), 3U) << "a marker at 32";
  table.insert(prefix("2001::/32"), 1);
  EXPECT_EQ(table.slots(), 3U) << "which now is a prefix too";
  table.remove(prefix("2001::/40"));
  EXPECT_EQ(table.slots(), 2U);
  table.remove(prefix("2001::/48"));
  table.remove(prefix("2001::/32"));
  EXPECT_EQ(table.slots(), 0U);
}

TEST(Ipv6Lengths, WaitsForAGracePeriodBetweenChangesOverOneAddressOnly) {
  ManualGracePeriods grace_periods;
  Ipv6Lengths table(grace_periods);
  table.insert(prefix("2001:db8::/32"), 1);
  table.insert(prefix("2001:db9::/32"), 1);
  EXPECT_EQ(grace_periods.waits, 0);
  table.insert(prefix("2001:db8:1::/48"), 2);
  EXPECT_EQ(grace_periods.waits, 1);
  table.remove(prefix("2001:db9::/32"));
  EXPECT_EQ(grace_periods.waits, 2);
  grace_periods.finished = grace_periods.started;
  table.insert(prefix("::/0"), 3);
  EXPECT_EQ(grace_periods.waits, 2);
}

}  // namespace
}  // namespace penumbra
