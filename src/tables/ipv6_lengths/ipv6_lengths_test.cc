// SPDX-License-Identifier: Apache-2.0
//
// Features of the search on lengths only: its tree of lengths, and markers.
#include "tables/ipv6_lengths/ipv6_lengths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/testing_grace_periods.h"
#include "engines/conformance.h"
#include "tables/ipv6/ipv6_testing.h"
#include "tables/ipv6_lengths/ipv6_lengths.shader.h"

namespace penumbra {

std::unique_ptr<Ipv6Lookup> ipv6_testing::make_table(GracePeriods& grace_periods) {
  return std::make_unique<Ipv6Lengths>(grace_periods);
}

namespace {

using ipv6_testing::prefix;

/// Returns the maximum number of steps from a node of the tree of lengths to a leaf.
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

/// Returns prefixes of 64 bits whose slots have the same first place in tables of up to 2^48 slots. The hash is public,
/// so an attacker who announces prefixes can choose them.
std::vector<Ipv6Prefix> at_one_place(std::size_t count) {
  std::uint64_t inverse = 1;  // inverse of the factor, by Newton's iteration
  for (int i = 0; i < 6; ++i) inverse *= 2 - IPV6_LENGTHS_FACTOR * inverse;
  constexpr unsigned kLength = 64;
  std::vector<Ipv6Prefix> prefixes;
  for (std::uint64_t i = 1; i <= count; ++i) {
    const std::uint64_t bits = inverse * i;
    prefixes.push_back({{(bits ^ bits >> 32) - kLength, 0}, kLength});
    EXPECT_EQ(ipv6_lengths_place(prefixes.back().address.high, kLength, 0, 48), 0U);
  }
  return prefixes;
}

class Ipv6LengthsAtOnePlace : public testing::TestWithParam<std::string> {};

TEST_P(Ipv6LengthsAtOnePlace, AreFoundHoweverManyTheyAre) {
  constexpr std::size_t kPrefixes = 700;
  NoReaders no_readers;
  Ipv6Lengths table(no_readers);
  ipv6_testing::Oracle oracle;
  std::vector<Ipv6Address> probes;
  std::uint16_t next_hop = 0;
  for (const Ipv6Prefix each : at_one_place(kPrefixes)) {
    probes.push_back({each.address.high, next_hop});
    table.insert(each, next_hop);
    oracle.insert({each, next_hop++});
  }
  table.commit();
  // Addresses that share a marker with a prefix probe the prefix's place. Some pass all of the slots there without a
  // hit.
  constexpr std::uint64_t kBehindTheMarker = 1 << 16;
  for (std::uint64_t i = 0; i < kBehindTheMarker; ++i) probes.push_back({probes.front().high ^ i, 0});
  conformance::ShaderRun run(GetParam(), table.shader_name(), table.table());
  const auto asked = prefix_testing::columns(probes);
  for (const std::uint32_t batch : {64, 4096}) {
    std::vector<std::uint16_t> found(probes.size(), 0x1234);
    run({asked.data()}, {found.data()}, probes.size(), batch);
    for (std::size_t i = 0; i < probes.size(); ++i) ASSERT_EQ(found[i], oracle.next_hop(probes[i])) << i;
  }
}

PENUMBRA_FOR_EACH_ENGINE(Ipv6LengthsAtOnePlace);
PENUMBRA_WITHOUT_AVX512(Ipv6LengthsAtOnePlace);

}  // namespace
}  // namespace penumbra
