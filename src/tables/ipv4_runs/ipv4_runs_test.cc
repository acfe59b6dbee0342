// SPDX-License-Identifier: Apache-2.0
//
// The small copy of an IPv4 table on every engine, compared with the table's oracle.
#include "ipv4_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/sanitizer_scale.h"
#include "base/testing_grace_periods.h"
#include "engines/conformance.h"
#include "ipv4_runs.shader.h"
#include "run_values.h"
#include "tables/copying_mirror.h"
#include "tables/dir24_8/dir24_8_testing.h"

namespace penumbra {
namespace {

using dir24_8_testing::Oracle;
using dir24_8_testing::prefix;
using dir24_8_testing::prefix_of;

class Ipv4RunsLookup : public testing::TestWithParam<std::string> {
 protected:
  void expect_equal(const std::vector<std::uint32_t>& addresses) {
    table_.commit();
    std::vector<std::uint16_t> found(addresses.size());
    run_({addresses.data()}, {found.data()}, addresses.size(), 64);
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      ASSERT_EQ(found[i], oracle_.next_hop({addresses[i]})) << to_string(Ipv4Address{addresses[i]});
    }
  }
  void insert(Ipv4Prefix prefix, std::uint16_t next_hop) {
    ASSERT_EQ(table_.insert(prefix, next_hop), oracle_.insert({prefix, next_hop}));
  }
  void remove(Ipv4Prefix prefix) { ASSERT_EQ(table_.remove(prefix), oracle_.remove(prefix)); }

  NoReaders no_readers_;
  Dir24_8 table_{no_readers_};
  Ipv4Runs runs_{table_.table(), no_readers_};
  conformance::ShaderRun run_{GetParam(), "ipv4_runs", runs_.table()};
  Oracle oracle_;
};

TEST_P(Ipv4RunsLookup, OfAnEmptyTableFindsNothing) {
  expect_equal({0, 0x7F000001, 0x80000000, 0xFFFFFFFF});
}

TEST_P(Ipv4RunsLookup, FindsBothEndsOfARunAndItsNeighbours) {
  const std::uint32_t network = 0x0A000000;  // the first /24 of a node
  std::vector<std::uint32_t> addresses;
  for (std::uint32_t slash24 = 0; slash24 < 96; ++slash24) {
    addresses.push_back(network - 0x2000 + (slash24 << 8));
    addresses.push_back(addresses.back() | 0xFF);
  }
  expect_equal(addresses);
  for (const unsigned length : {19U, 20U, 24U, 23U, 25U, 32U, 18U, 8U, 0U}) {
    insert(prefix_of(network, length), static_cast<std::uint16_t>(length));
    insert(prefix_of(network + 0x1F00, length), static_cast<std::uint16_t>(100 + length));
    expect_equal(addresses);
  }
}

/// Each /24 is a run, first in one node and then in all nodes of some /16s. All sizes of blocks occur.
TEST_P(Ipv4RunsLookup, FindsAsManyRunsAsThereCanBe) {
  std::vector<std::uint32_t> addresses;
  for (std::uint32_t slash24 = 0; slash24 < 40 * 32; ++slash24) {
    addresses.push_back(slash24 << 8 | (slash24 & 0xFF));
    insert(prefix_of(slash24 << 8, 24), static_cast<std::uint16_t>(slash24 & 0x7FFF));
    if (slash24 < 40 || slash24 % 37 == 0) expect_equal(addresses);
  }
  for (std::uint32_t slash24 = 0; slash24 < 40 * 32; slash24 += 3) remove(prefix_of(slash24 << 8, 24));
  expect_equal(addresses);
}

TEST_P(Ipv4RunsLookup, FollowsRandomChangesAndLoads) {
  std::mt19937 random(7);
  const auto any_prefix = [&random] {
    const unsigned length = random() % 64 == 0 ? random() % 8 : 8 + random() % 25;
    return prefix_of(0x0A000000 | random() >> 10, length);  // many prefixes overlap
  };
  std::vector<Dir24_8::Entry> entries;
  for (int round = 0; round < (kSanitizerScale == 1 ? 12 : 4); ++round) {
    if (round % 4 == 0) {
      oracle_.clear();
      entries.clear();
      for (int i = 0; i < 500; ++i) {
        const auto next_hop = static_cast<std::uint16_t>(random() % 20);
        entries.push_back({any_prefix(), next_hop});
        oracle_.insert({entries.back().prefix, next_hop});
      }
      table_.load(entries);
    }
    const std::vector<Dir24_8::Entry> known = oracle_.entries();
    for (int i = 0; i < 300; ++i) {
      if (random() % 3 == 0) {
        remove(known[random() % known.size()].prefix);
      } else {
        insert(any_prefix(), static_cast<std::uint16_t>(random() % Dir24_8::kMaxNextHops));
      }
    }
    std::vector<std::uint32_t> addresses;
    for (const auto& entry : oracle_.entries()) {
      const std::uint32_t first = entry.prefix.address.value, last = entry.prefix.last().value;
      const auto inside = static_cast<std::uint32_t>(random() % 1024);
      addresses.insert(addresses.end(), {first, last, first - 1, last + 1, first + inside});
    }
    expect_equal(addresses);
  }
}

PENUMBRA_FOR_EACH_ENGINE(Ipv4RunsLookup);
PENUMBRA_WITHOUT_AVX512(Ipv4RunsLookup);

TEST(Ipv4Runs, TakesTwoCacheLinesForThirtyTwoDifferentSlash24s) {
  NoReaders no_readers;
  Dir24_8 table(no_readers);
  const Ipv4Runs runs(table.table(), no_readers);
  const std::size_t empty = runs.memory_bytes();
  for (std::uint32_t slash24 = 0; slash24 < 32; ++slash24) {
    table.insert(prefix_of(slash24 << 8, 24), static_cast<std::uint16_t>(slash24));
  }
  const std::size_t nodes = 64, values = std::size_t{6} * 64;
  EXPECT_LE(runs.memory_bytes(), empty + nodes + values) << "a line of each size on the way, of the largest two";
}

/// The test repeats the change more often than there are lines. A /16 that has one value again frees its line.
TEST(Ipv4Runs, KeepsALineOnlyForASlash16OfSeveralValues) {
  NoReaders no_readers;
  Dir24_8 table(no_readers);
  const Ipv4Runs runs(table.table(), no_readers);
  const Ipv4Prefix all = prefix_of(0x0A000000, 16), part = prefix_of(0x0A00FF00, 24);
  table.insert(all, 1);
  table.insert(part, 2);
  table.remove(part);
  const std::size_t constant = runs.memory_bytes();
  for (int i = 0; i < 3 * IPV4_RUNS_ROOT_ELEMENTS; ++i) {
    table.insert(part, 2);
    ASSERT_EQ(runs.memory_bytes(), constant + 64);
    table.remove(part);
    ASSERT_EQ(runs.memory_bytes(), constant);
  }
}

/// Inserts and removes single /24s in /16s with otherwise one value, a thousand times as often as there are such /24s.
TEST(Ipv4Runs, TellsMirrorsOfLinesThatComeAndGo) {
  NoReaders no_readers;
  Dir24_8 table(no_readers);
  Ipv4Runs runs(table.table(), no_readers);
  Oracle oracle;
  CopyingMirror mirror;
  runs.table().attach(mirror);
  std::mt19937 random(11);
  const auto check = [&] {
    table.commit();
    EXPECT_TRUE(mirror.equals_sources());
    const auto view = mirror.view<ipv4_runs_view>();
    for (int i = 0; i < 1000; ++i) {
      const auto address = static_cast<std::uint32_t>(0x0A000000 | random() % (1U << 20));
      std::uint16_t found = 0;
      ipv4_runs_lookup(view, &address, &found, 1);
      ASSERT_EQ(found, oracle.next_hop({address})) << to_string(Ipv4Address{address});
    }
  };
  for (std::size_t i = 0; i < 20'000 / kSanitizerScale; ++i) {
    const auto slash16 = static_cast<std::uint32_t>(0x0A000000 | random() % 16 << 16);
    const unsigned length = random() % 50 == 0 ? 16 : 24 + random() % 2;
    const Ipv4Prefix each = prefix_of(slash16 | (length > 16 ? random() % 2 << 8 : 0), length);
    if (random() % 2 == 0) {
      table.remove(each);
      oracle.remove(each);
    } else {
      const auto next_hop = static_cast<std::uint16_t>(random() % 3);
      table.insert(each, next_hop);
      oracle.insert({each, next_hop});
    }
    if (i % 2000 == 0) check();
  }
  check();
  runs.table().detach(mirror);
}

/// A reader that loaded an element of the root before a change may follow it until the grace period has elapsed.
TEST(Ipv4Runs, LeavesALineAsItIsUntilNoReaderIsThere) {
  ManualGracePeriods grace_periods;
  Dir24_8 table(grace_periods);
  Ipv4Runs runs(table.table(), grace_periods);
  const Ipv4Prefix part = prefix_of(0x0A00FF00, 24);
  table.insert(prefix_of(0x0A000000, 16), 1);
  table.insert(part, 2);
  const auto& view = *static_cast<const ipv4_runs_view*>(runs.table().view());
  const std::uint32_t element = view.root[0x0A00];
  ASSERT_GE(element, std::uint32_t{IPV4_RUNS_LINES});
  const std::uint64_t* const line = &view.nodes[std::size_t{element - IPV4_RUNS_LINES} * IPV4_RUNS_NODES_OF_A_LINE];
  const std::vector<std::uint64_t> nodes(line, line + IPV4_RUNS_NODES_OF_A_LINE);
  const auto value = [&] { return view.values[static_cast<std::uint32_t>(nodes.back() >> 32) + 2]; };
  ASSERT_EQ(value(), 2);
  table.remove(part);
  EXPECT_EQ(view.root[0x0A00], 1U);
  // Inserts more lines than are allocated at once.
  for (std::uint32_t slash16 = 1; slash16 < 40'000; ++slash16) {
    table.insert(prefix_of(slash16 << 16 | 0xFF00, 24), 3);
    ASSERT_TRUE(std::ranges::equal(nodes, std::span(line, nodes.size()))) << slash16;
    ASSERT_EQ(value(), 2) << slash16;
  }
  EXPECT_EQ(grace_periods.waits, 0);
  grace_periods.end_all();
  for (std::uint32_t slash16 = 40'000; slash16 < 65'536 && std::ranges::equal(nodes, std::span(line, nodes.size()));
       ++slash16) {
    table.insert(prefix_of(slash16 << 16 | 0xFF00, 24), 3);
  }
  EXPECT_FALSE(std::ranges::equal(nodes, std::span(line, nodes.size()))) << "the freed line is used again";
}

TEST(RunValues, GivesSinglesAPlaceEachAndNoBlock) {
  NoReaders no_readers;
  RunValues values(no_readers, 1);
  const std::size_t before = values.used_bytes();
  for (const std::uint16_t value : {0, 1, 0x7FFF, 0x8000, 0xFFFF}) {
    EXPECT_EQ(values.data()[values.place(std::vector{value})], value);
  }
  EXPECT_EQ(values.used_bytes(), before);
}

TEST(RunValues, FillsAPlaceAnewOnlyAfterItsGracePeriod) {
  ManualGracePeriods grace_periods;
  RunValues values(grace_periods, 1);
  const std::vector<std::uint16_t> before{1, 2, 3}, after{4, 5, 6};
  const std::uint32_t first = values.place(before);
  values.retire(first, 3);
  EXPECT_NE(values.place(after), first) << "no grace period has started";
  values.start_grace_period();
  std::vector<std::uint32_t> others;
  others.reserve(32);
  for (int i = 0; i < 16; ++i) others.push_back(values.place(after));
  EXPECT_EQ(std::ranges::count(others, first), 0);
  EXPECT_EQ(values.data()[first + 1], 2) << "a reader may be there";
  grace_periods.finished = grace_periods.started;
  for (int i = 0; i < 16; ++i) others.push_back(values.place(after));
  EXPECT_EQ(std::ranges::count(others, first), 1);
  EXPECT_EQ(grace_periods.waits, 0);
}

TEST(RunValues, WaitsForAGracePeriodWhenAllPlacesAreTaken) {
  ManualGracePeriods grace_periods;
  RunValues values(grace_periods, 1);
  const std::vector<std::uint16_t> pair{1, 2};
  std::uint32_t last = 0;
  for (std::size_t i = 0; i < RunValues::kOwners; ++i) last = values.place(pair);
  const std::size_t used = values.used_bytes();
  for (std::size_t i = 0; i < 1000; ++i) {
    const std::uint32_t next = values.place(pair);
    values.retire(last, 2);
    last = next;
  }
  EXPECT_LE(values.used_bytes(), used + std::size_t{2} * 64);
  EXPECT_GT(grace_periods.waits, 0);
}

}  // namespace
}  // namespace penumbra
