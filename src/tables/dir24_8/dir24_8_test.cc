// SPDX-License-Identifier: Apache-2.0
//
// Small cases and limits of the IPv4 table.
#include "dir24_8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/sanitizer_scale.h"
#include "base/testing_grace_periods.h"
#include "dir24_8.shader.h"
#include "dir24_8_testing.h"
#include "engines/conformance.h"
#include "testing/message_of.h"

namespace penumbra {
namespace {

using dir24_8_testing::address;
using dir24_8_testing::Oracle;
using dir24_8_testing::prefix;
using dir24_8_testing::prefix_of;
using prefix_testing::entries_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A copy of the memory that readers see.
struct LookupMemory {
  explicit LookupMemory(Dir24_8& table) {
    const auto& view = *static_cast<const dir24_8_view*>(table.table().view());
    tbl24.assign(view.tbl24, view.tbl24 + (1U << 24));
    tbl8.assign(view.tbl8, view.tbl8 + Dir24_8::kMaxGroups * DIR24_8_GROUP_ENTRIES);
  }
  bool operator==(const LookupMemory&) const = default;
  std::vector<std::uint16_t> tbl24, tbl8;
};

/// Returns the message of the std::length_error that `change` throws.
std::string refusal(const std::function<void()>& change) {
  return message_of<std::length_error>(change);
}

class Dir24_8Lookup : public testing::TestWithParam<std::string> {
 protected:
  std::uint16_t lookup(std::uint32_t host_address) {
    std::uint16_t next_hop = 0x1234;
    run_({&host_address}, {&next_hop}, 1, 1);
    return next_hop;
  }
  std::uint16_t lookup(const char* text) { return lookup(address(text).value); }

  NoReaders no_readers_;
  Dir24_8 table_{no_readers_};
  conformance::ShaderRun run_{GetParam(), "ipv4_dir24_8", table_.table()};
};

TEST_P(Dir24_8Lookup, OfAnEmptyTableFindsNothing) {
  for (const char* any : {"0.0.0.0", "127.0.0.1", "128.0.0.0", "255.255.255.255"}) {
    EXPECT_EQ(lookup(any), Dir24_8::kNoRoute);
  }
}

TEST_P(Dir24_8Lookup, FindsTheFirstAndTheLastAddressThereIs) {
  table_.insert(prefix("0.0.0.0/32"), 1);
  table_.insert(prefix("255.255.255.255/32"), 2);
  table_.commit();
  EXPECT_EQ(lookup("0.0.0.0"), 1);
  EXPECT_EQ(lookup("0.0.0.1"), Dir24_8::kNoRoute);
  EXPECT_EQ(lookup("255.255.255.254"), Dir24_8::kNoRoute);
  EXPECT_EQ(lookup("255.255.255.255"), 2);
}

TEST_P(Dir24_8Lookup, GivesTheLowestAndTheHighestNextHopOnBothLevels) {
  table_.insert(prefix("10.0.0.0/24"), 0);
  table_.insert(prefix("10.0.1.0/24"), 32'767);
  table_.insert(prefix("10.0.2.0/32"), 0);
  table_.insert(prefix("10.0.2.1/32"), 32'767);
  table_.commit();
  EXPECT_EQ(lookup("10.0.0.0"), 0);
  EXPECT_EQ(lookup("10.0.1.0"), 32'767);
  EXPECT_EQ(lookup("10.0.2.0"), 0);
  EXPECT_EQ(lookup("10.0.2.1"), 32'767);
  EXPECT_EQ(lookup("10.0.2.2"), Dir24_8::kNoRoute);
}

/// One prefix of every length over one address, inserted and removed in random orders.
TEST_P(Dir24_8Lookup, PeelsNestedPrefixesInAnyOrder) {
  const std::uint32_t inmost = address("172.18.52.86").value;
  std::vector<std::uint32_t> probes{0, 0xFFFFFFFF, inmost};
  for (unsigned bit = 0; bit < 32; ++bit) probes.push_back(inmost ^ 1U << bit);
  std::vector<unsigned> lengths(33);
  for (unsigned length = 0; length <= 32; ++length) lengths[length] = length;
  std::mt19937 random(2);
  Oracle oracle;
  std::vector<std::uint16_t> found(probes.size());
  const auto expect_equal = [&] {
    table_.commit();
    run_({probes.data()}, {found.data()}, probes.size(), 7);
    for (std::size_t i = 0; i < probes.size(); ++i) {
      ASSERT_EQ(found[i], oracle.next_hop({probes[i]})) << to_string(Ipv4Address{probes[i]});
      ASSERT_EQ(table_.match({probes[i]}), oracle.match({probes[i]}));
    }
  };
  for (int round = 0; round < (kSanitizerScale == 1 ? 3 : 1); ++round) {
    std::shuffle(lengths.begin(), lengths.end(), random);
    for (const unsigned length : lengths) {
      const Ipv4Prefix each = prefix_of(inmost, length);
      const auto next_hop = static_cast<std::uint16_t>(random() % Dir24_8::kMaxNextHops);
      ASSERT_EQ(table_.insert(each, next_hop), oracle.insert({each, next_hop}));
      expect_equal();
    }
    ASSERT_EQ(entries_of(table_), oracle.entries());
    std::shuffle(lengths.begin(), lengths.end(), random);
    for (const unsigned length : lengths) {
      const Ipv4Prefix each = prefix_of(inmost, length);
      ASSERT_EQ(table_.remove(each), oracle.remove(each));
      expect_equal();
    }
    EXPECT_EQ(table_.size(), 0U);
    EXPECT_EQ(table_.groups(), 0U);
  }
}

TEST_P(Dir24_8Lookup, ReachesEveryGroup) {
  for (std::uint32_t group = 0; group < Dir24_8::kMaxGroups; ++group) {
    table_.insert(prefix_of(group << 16 | 0xFF, 32), static_cast<std::uint16_t>(group));
  }
  table_.commit();
  EXPECT_EQ(table_.groups(), Dir24_8::kMaxGroups);
  std::vector<std::uint32_t> addresses;
  for (std::uint32_t group = 0; group < Dir24_8::kMaxGroups; ++group) {
    addresses.push_back(group << 16 | 0xFF);
    addresses.push_back(group << 16 | 0xFE);
  }
  std::vector<std::uint16_t> found(addresses.size());
  run_({addresses.data()}, {found.data()}, addresses.size(), 4096);
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i], i % 2 == 0 ? i / 2 : Dir24_8::kNoRoute) << to_string(Ipv4Address{addresses[i]});
  }
}

TEST_P(Dir24_8Lookup, SeesWhatWasLoaded) {
  table_.insert(prefix("10.0.0.0/8"), 1);
  const std::vector<Dir24_8::Entry> entries{
      {prefix("20.0.0.1/32"), 2}, {prefix("20.0.0.0/16"), 3}, {prefix("20.0.0.1/32"), 4}};
  table_.load(entries);
  EXPECT_EQ(lookup("10.0.0.1"), Dir24_8::kNoRoute);
  EXPECT_EQ(lookup("20.0.0.1"), 4);
  EXPECT_EQ(lookup("20.0.0.2"), 3);
  EXPECT_THAT(entries_of(table_), ElementsAre(entries[1], entries[2]));
}

PENUMBRA_FOR_EACH_ENGINE(Dir24_8Lookup);

/// Lookups with one access, two accesses and no route alternate.
class Dir24_8LookupOfAnyCount : public Dir24_8Lookup {};

TEST_P(Dir24_8LookupOfAnyCount, AnswersAllAndNoMore) {
  Oracle oracle;
  std::uint16_t next_hop = 0;
  for (const char* text : {"10.0.0.0/8", "10.1.0.0/16", "10.1.2.128/25", "10.1.3.7/32"}) {
    table_.insert(prefix(text), next_hop);
    oracle.insert({prefix(text), next_hop++});
  }
  table_.commit();
  std::mt19937 random(3);
  std::vector<std::uint32_t> addresses(1000);
  for (auto& each : addresses) each = address("10.1.2.0").value + random() % 1024 + (random() % 8 == 0 ? 1U << 30 : 0);
  for (std::uint32_t count = 0; count <= addresses.size(); ++count) {
    std::vector<std::uint16_t> found(count + 1, 0x1234);
    run_({addresses.data()}, {found.data()}, count, 1000);
    for (std::uint32_t i = 0; i < count; ++i)
      ASSERT_EQ(found[i], oracle.next_hop({addresses[i]})) << i << " of " << count;
    ASSERT_EQ(found[count], 0x1234) << count;
  }
}

PENUMBRA_FOR_EACH_ENGINE_AND_SETTING(Dir24_8LookupOfAnyCount);

TEST(Dir24_8, TellsNewFromReplacedAndThereFromMissing) {
  NoReaders no_readers;
  Dir24_8 table(no_readers);
  for (const char* text : {"10.0.0.0/8", "10.1.2.0/24", "10.1.2.128/25", "10.1.2.3/32"}) {
    EXPECT_FALSE(table.remove(prefix(text)));
    EXPECT_EQ(table.find(prefix(text)), std::nullopt);
    EXPECT_TRUE(table.insert(prefix(text), 5));
    EXPECT_FALSE(table.insert(prefix(text), 5));
    EXPECT_FALSE(table.insert(prefix(text), 6));
    EXPECT_EQ(table.find(prefix(text)), 6);
    EXPECT_EQ(table.size(), 1U);
    EXPECT_TRUE(table.remove(prefix(text)));
    EXPECT_FALSE(table.remove(prefix(text)));
    EXPECT_EQ(table.size(), 0U);
  }
}

TEST(Dir24_8, RefusesWhatIsNoPrefix) {
  NoReaders no_readers;
  Dir24_8 table(no_readers);
  for (const Ipv4Prefix wrong : {Ipv4Prefix{{1}, 31}, Ipv4Prefix{{1}, 0}, Ipv4Prefix{{0}, 33}}) {
    EXPECT_THROW(table.insert(wrong, 1), std::invalid_argument);
    EXPECT_THROW(table.remove(wrong), std::invalid_argument);
    EXPECT_THROW(table.find(wrong), std::invalid_argument);
    EXPECT_THROW(table.load(std::vector<Dir24_8::Entry>{{wrong, 1}}), std::invalid_argument);
  }
  EXPECT_THAT(entries_of(table), IsEmpty());
}

TEST(Dir24_8, RefusesNextHopsPastItsLimitAndStaysAsItWas) {
  NoReaders no_readers;
  Dir24_8 table(no_readers);
  table.insert(prefix("10.0.0.0/24"), 7);
  const auto entries = entries_of(table);
  const LookupMemory memory(table);
  for (const std::uint16_t next_hop : {std::uint16_t{32'768}, std::uint16_t{65'535}}) {
    for (const char* text : {"10.0.0.0/24", "10.0.0.1/32", "0.0.0.0/0"}) {
      EXPECT_THAT(refusal([&] { table.insert(prefix(text), next_hop); }), HasSubstr("32768 next hops"));
      const std::vector<Dir24_8::Entry> load{{prefix("1.0.0.0/8"), 1}, {prefix(text), next_hop}};
      EXPECT_THAT(refusal([&] { table.load(load); }), HasSubstr("32768 next hops"));
    }
  }
  EXPECT_EQ(entries_of(table), entries);
  EXPECT_EQ(LookupMemory(table), memory);
}

TEST(Dir24_8, HoldsFourMillionPrefixesAndStaysAsItWasAtOneMore) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "one thread has no races, and this takes gigabytes with ThreadSanitizer";
#endif
  NoReaders no_readers;
  Dir24_8 table(no_readers);
  std::vector<Dir24_8::Entry> entries;
  entries.reserve(Dir24_8::kMaxPrefixes + 1);
  for (std::uint32_t i = 0; i < Dir24_8::kMaxPrefixes; ++i) {
    entries.push_back({prefix_of(i << 10, 22), static_cast<std::uint16_t>(i % Dir24_8::kMaxNextHops)});
  }
  table.load(entries);
  EXPECT_EQ(table.size(), Dir24_8::kMaxPrefixes);
  const LookupMemory memory(table);
  for (const char* text : {"10.0.0.0/8", "10.0.0.0/24", "10.0.0.0/32"}) {
    EXPECT_THAT(refusal([&] { table.insert(prefix(text), 1); }), HasSubstr("4194304 prefixes"));
  }
  entries.push_back({prefix("10.0.0.0/32"), 1});
  EXPECT_THAT(refusal([&] { table.load(entries); }), HasSubstr("4194304 prefixes"));
  EXPECT_EQ(LookupMemory(table), memory);
  entries.back() = entries.front();
  EXPECT_NO_THROW(table.load(entries)) << "one prefix twice is one prefix";
  entries.pop_back();
  EXPECT_EQ(entries_of(table), entries);

  EXPECT_FALSE(table.insert(prefix("0.0.0.0/22"), 77)) << "a replacement needs no room";
  EXPECT_TRUE(table.remove(prefix("0.0.0.0/22")));
  EXPECT_TRUE(table.insert(prefix("10.0.0.0/32"), 1)) << "there is room again";
}

/// Returns entries that use all groups: the last address of every second /24 from 0 on.
std::vector<Dir24_8::Entry> all_groups() {
  std::vector<Dir24_8::Entry> entries;
  entries.reserve(Dir24_8::kMaxGroups + 1);
  for (std::uint32_t i = 0; i < Dir24_8::kMaxGroups; ++i) entries.push_back({prefix_of(i << 9 | 0xFF, 32), 1});
  return entries;
}

TEST(Dir24_8, RefusesGroupsPastItsLimitAndStaysAsItWas) {
  NoReaders no_readers;
  Dir24_8 table(no_readers);
  auto entries = all_groups();
  table.load(entries);
  EXPECT_EQ(table.groups(), Dir24_8::kMaxGroups);
  const LookupMemory memory(table);
  EXPECT_THAT(refusal([&] { table.insert(prefix("200.0.0.0/25"), 1); }), HasSubstr("32767 different /24 networks"));
  entries.push_back({prefix("200.0.0.0/25"), 1});
  EXPECT_THAT(refusal([&] { table.load(entries); }), HasSubstr("32767 different /24 networks"));
  entries.pop_back();
  EXPECT_EQ(entries_of(table), entries);
  EXPECT_EQ(table.size(), entries.size());
  EXPECT_EQ(LookupMemory(table), memory);

  EXPECT_TRUE(table.insert(prefix("0.0.0.0/25"), 2)) << "its /24 has a group";
  EXPECT_TRUE(table.insert(prefix("200.0.0.0/24"), 2)) << "needs none";
  EXPECT_TRUE(table.remove(prefix("0.0.0.0/25")));
  EXPECT_TRUE(table.remove(prefix("0.0.0.255/32")));
  EXPECT_TRUE(table.insert(prefix("200.0.0.0/25"), 1)) << "a group has become free";
  EXPECT_EQ(table.match(address("200.0.0.1")), (Dir24_8::Entry{prefix("200.0.0.0/25"), 1}));
}

std::uint16_t tbl24_entry(Dir24_8& table, const char* text) {
  return static_cast<const dir24_8_view*>(table.table().view())->tbl24[address(text).value >> 8];
}

TEST(Dir24_8, ReusesAGroupOnlyAfterItsGracePeriod) {
  ManualGracePeriods grace_periods;
  Dir24_8 table(grace_periods);
  table.insert(prefix("10.0.0.1/32"), 1);
  const std::uint16_t group = tbl24_entry(table, "10.0.0.0");
  table.remove(prefix("10.0.0.1/32"));
  table.insert(prefix("10.0.1.1/32"), 2);
  EXPECT_NE(tbl24_entry(table, "10.0.1.0"), group) << "a reader may still be in it";
  grace_periods.finished = grace_periods.started;
  table.insert(prefix("10.0.2.1/32"), 3);
  EXPECT_EQ(tbl24_entry(table, "10.0.2.0"), group);
  EXPECT_EQ(grace_periods.waits, 0);
}

TEST(Dir24_8, LeavesARetiredGroupAsItWasUntilItsGracePeriodHasElapsed) {
  ManualGracePeriods grace_periods;
  Dir24_8 table(grace_periods);
  table.insert(prefix("10.0.0.0/24"), 1);
  table.insert(prefix("10.0.0.1/32"), 2);
  const auto& view = *static_cast<const dir24_8_view*>(table.table().view());
  const std::uint16_t* const group = view.tbl8 + std::size_t{256} * (tbl24_entry(table, "10.0.0.0") - 0x8000U);
  table.remove(prefix("10.0.0.1/32"));
  table.insert(prefix("10.0.0.0/24"), 3);
  table.insert(prefix("10.0.0.2/32"), 4);
  EXPECT_EQ(group[0], 1);
  EXPECT_EQ(group[1], 2);
  EXPECT_EQ(group[2], 1);
}

TEST(Dir24_8, WaitsForAGracePeriodWhenOnlyThatGivesAGroup) {
  ManualGracePeriods grace_periods;
  Dir24_8 table(grace_periods);
  table.load(all_groups());
  const int waits = grace_periods.waits;
  table.remove(prefix("0.0.0.255/32"));
  EXPECT_EQ(grace_periods.waits, waits);
  EXPECT_TRUE(table.insert(prefix("200.0.0.0/25"), 1));
  EXPECT_EQ(grace_periods.waits, waits + 1);
  EXPECT_EQ(table.groups(), Dir24_8::kMaxGroups);
}

TEST(Dir24_8, KeepsTheOldContentForReadersUntilTheGracePeriodAfterALoad) {
  ManualGracePeriods grace_periods;
  Dir24_8 table(grace_periods);
  table.insert(prefix("10.0.0.0/24"), 1);
  table.insert(prefix("10.0.1.1/32"), 2);
  const auto* const old = static_cast<const dir24_8_view*>(table.table().view());
  const std::vector<std::uint32_t> addresses{address("10.0.0.1").value, address("10.0.1.1").value};
  std::vector<std::uint16_t> found(2);
  grace_periods.while_waiting = [&] {
    EXPECT_NE(table.table().view(), old);
    dir24_8_lookup(*old, addresses.data(), found.data(), 2);
  };
  table.load(std::vector<Dir24_8::Entry>{{prefix("0.0.0.0/0"), 3}});
  EXPECT_EQ(grace_periods.waits, 1);
  EXPECT_THAT(found, ElementsAre(1, 2));
}

}  // namespace
}  // namespace penumbra
