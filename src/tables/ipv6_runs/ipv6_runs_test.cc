// SPDX-License-Identifier: Apache-2.0
//
// Features of this structure only: lines of runs, and lines that lead to further lines.
#include "tables/ipv6_runs/ipv6_runs.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/testing_grace_periods.h"
#include "tables/ipv6/ipv6_testing.h"
#include "tables/ipv6_runs/ipv6_runs.shader.h"
#include "tables/ipv6_runs/run_list.h"

namespace penumbra {

std::unique_ptr<Ipv6Lookup> ipv6_testing::make_table(GracePeriods& grace_periods) {
  return std::make_unique<Ipv6Runs>(grace_periods);
}

namespace {

using ipv6_runs::Pieces;
using ipv6_testing::address;
using ipv6_testing::prefix;

/// Returns the line that the first three accesses of a lookup find.
const ipv6_runs_line* line_of(Ipv6Runs& table, Ipv6Address address) {
  const auto& view = *static_cast<const ipv6_runs_view*>(table.table().view());
  const std::uint32_t unit = ipv6_runs_unit({address.high, address.low}, IPV6_RUNS_ROOT_BITS);
  const std::uint32_t root = view.root[address.high >> (64 - IPV6_RUNS_ROOT_BITS)];
  const std::uint32_t entry = view.entries[ipv6_runs_next(root, unit)];
  return &view.lines[ipv6_runs_next(entry, unit << ipv6_runs_order(root))];
}

TEST(Ipv6Runs, FindsTheRunOfEveryUnitInLinesOfAnySize) {
  Random random(3);
  for (std::size_t starts = 0; starts < IPV6_RUNS_OF_A_LINE; ++starts) {
    std::set<std::uint32_t> chosen;
    while (chosen.size() < starts) chosen.insert(random.below(1U << 31) * 2 + 1);
    ipv6_runs_line line{};
    std::size_t at = IPV6_RUNS_OF_A_LINE - 1 - starts;
    for (const std::uint32_t start : chosen) line.start[at++] = start;
    std::vector<std::uint32_t> units{0, 0xFFFFFFFF};
    for (const std::uint32_t start : chosen) units.insert(units.end(), {start - 1, start, start + 1});
    for (const std::uint32_t unit : units) {
      const auto before = std::distance(chosen.begin(), chosen.upper_bound(unit));
      EXPECT_EQ(ipv6_runs_find(&line, unit), IPV6_RUNS_OF_A_LINE - 1 - starts + static_cast<std::size_t>(before));
    }
  }
}

TEST(Ipv6Runs, KeepsOneLineForAllThatHasOneAnswer) {
  NoReaders no_readers;
  Ipv6Runs table(no_readers);
  table.insert(prefix("2001::/16"), 7);
  table.insert(prefix("2a00:1234:5600::/40"), 7);
  EXPECT_EQ(line_of(table, address("2001::1")), line_of(table, address("2001:ffff::1")));
  table.insert(prefix("2a00:1234::/32"), 7);
  EXPECT_EQ(line_of(table, address("2a00:1234:5600::1")), line_of(table, address("2a00:1234::1")))
      << "equal neighbours are one run";
  table.insert(prefix("2a00:1234::/32"), 8);
  EXPECT_EQ(table.match(address("2a00:1234:5600::1")).value().next_hop, 7);
}

TEST(Ipv6Runs, ChangesValuesWhereTheyAreAndLinesElsewhere) {
  ManualGracePeriods grace_periods;
  Ipv6Runs table(grace_periods);
  table.insert(prefix("2a00:1234::/32"), 1);
  table.insert(prefix("2a00:1234:1::/48"), 2);
  const ipv6_runs_line* const line = line_of(table, address("2a00:1234:1::1"));
  table.insert(prefix("2a00:1234:1::/48"), 3);
  EXPECT_EQ(line_of(table, address("2a00:1234:1::1")), line);
  table.insert(prefix("2a00:1234:7::/48"), 4);
  EXPECT_NE(line_of(table, address("2a00:1234:1::1")), line) << "a reader may be in it";
  EXPECT_EQ(grace_periods.waits, 0);
}

TEST(Ipv6Runs, ReusesItsLinesUnderEndlessChanges) {
  NoReaders no_readers;
  Ipv6Runs table(no_readers);
  Random random(5);
  const auto prefixes = ipv6_testing::nested_prefixes(200, random);
  for (const Ipv6Prefix each : prefixes) table.insert(each, 1);
  const std::size_t before = table.lookup_bytes();
  for (int i = 0; i < 1'500; ++i) {
    const Ipv6Prefix each = prefixes[random.below(200)];
    if (each.length < 20) continue;  // slow
    table.remove(each);
    table.insert(each, static_cast<std::uint16_t>(random.below(100)));
  }
  EXPECT_LE(table.lookup_bytes(), before + (std::size_t{8} << 20));
}

/// Adjacent runs, one per unit and several in one unit.
TEST(Ipv6Runs, FindsRunsHoweverManyStandSideBySide) {
  NoReaders no_readers;
  for (const std::uint64_t count : {11U, 12U, 2'000U}) {
    Ipv6Runs table(no_readers);
    ipv6_testing::Oracle oracle;
    std::vector<Ipv6Address> addresses;
    for (std::uint64_t i = 0; i < count; ++i) {
      const Ipv6Prefix each{{0x2A00'1234'0000'0000 + (i << 8), 0}, 56};
      table.insert(each, static_cast<std::uint16_t>(i));
      oracle.insert({each, static_cast<std::uint16_t>(i)});
      addresses.insert(addresses.end(), {each.address, each.last()});
    }
    addresses.push_back(prefix_testing::after(addresses.back()));
    addresses.push_back(prefix_testing::before(addresses.front()));
    std::vector<std::uint16_t> found(addresses.size());
    ipv6_runs_lookup(*static_cast<const ipv6_runs_view*>(table.table().view()),
                     prefix_testing::columns(addresses).data(), found.data(), static_cast<std::uint32_t>(found.size()));
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], oracle.next_hop(addresses[i])) << count;
  }
}

TEST(Ipv6Runs, CutsALineWhereRunsBegin) {
  const auto start = [](std::uint64_t units, std::uint64_t below = 0) {
    return Ipv6Address{std::uint64_t{0x20010DB8} << 32 | units << 8 | below, 0};
  };
  const Ipv6Prefix region = prefix("2001:db8::/32");
  constexpr std::uint32_t kFirst = 0xB8'0000'00;
  const std::vector<ipv6_runs::Run> aligned{{start(0), 1}, {start(5), 2}, {start(9), 3}};
  const Pieces whole(aligned, region);
  ASSERT_EQ(whole.count, 3U);
  EXPECT_EQ(whole.deeper, 0U);
  EXPECT_EQ(whole.piece[0].unit, kFirst);
  EXPECT_EQ(whole.piece[1].unit, kFirst + 5);
  EXPECT_EQ(whole.piece[2].value, 3U);

  const std::vector<ipv6_runs::Run> within{{start(0), 1}, {start(5, 7), 2}, {start(5, 9), 3}, {start(6), 4}};
  const Pieces split(within, region);
  ASSERT_EQ(split.count, 3U);
  EXPECT_EQ(split.deeper, 1U);
  EXPECT_EQ(split.piece[1].deeper.size(), 3U) << "with the run that it begins in";
  EXPECT_EQ(split.piece[2].unit, kFirst + 6);

  std::vector<ipv6_runs::Run> many;
  many.reserve(40);
  for (std::uint16_t i = 0; i < 40; ++i) many.push_back({start(i), i});
  EXPECT_EQ(Pieces(many, region).count, 40U);
  EXPECT_FALSE(Pieces(many, region).fit());
}

}  // namespace
}  // namespace penumbra
