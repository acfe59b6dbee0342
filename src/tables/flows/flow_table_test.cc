// SPDX-License-Identifier: Apache-2.0
//
// Flow records on every engine, compared with a map: random flows, flows of real captures, and flows that differ in one
// bit.
#include "flow_table.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "base/shared_data.h"
#include "base/testing_grace_periods.h"
#include "engines/conformance.h"
#include "flow_packet.h"
#include "flow_testing.h"
#include "tables/capture_frames.h"

namespace penumbra {
namespace {

using Inserted = FlowTable::Inserted;
using Oracle = std::map<flow_key, std::uint32_t, FlowKeyLess>;

constexpr std::size_t kMost = 40'000;
constexpr std::uint64_t kSeed = 5;

std::uint32_t right(const Oracle& oracle, const flow_key& key) {
  const auto found = oracle.find(key);
  return found == oracle.end() ? FlowTable::kNone : found->second;
}

class FlowLookup : public testing::TestWithParam<std::string> {
 protected:
  void insert(const flow_key& key) {
    const auto [what, record] = table_.insert(key, 7);
    const auto [place, fresh] = oracle_.emplace(key, record);
    ASSERT_EQ(what, fresh ? Inserted::fresh : Inserted::known);
    ASSERT_EQ(place->second, record);
  }
  /// Looks up all present flows and `probes`.
  void expect_equal(std::vector<flow_key> probes) {
    table_.commit();
    for (const auto& each : oracle_) probes.push_back(each.first);
    for (const std::uint32_t batch : conformance::kBatchSizes) {
      std::vector<std::uint32_t> records(probes.size(), 0x12345678);
      run_({probes.data()}, {records.data()}, probes.size(), batch);
      for (std::size_t i = 0; i < probes.size(); ++i) ASSERT_EQ(records[i], right(oracle_, probes[i])) << i;
    }
  }

  NoReaders no_readers_;
  FlowTable table_{kMost, kSeed, no_readers_};
  Oracle oracle_;
  conformance::ShaderRun run_{GetParam(), "flows_lookup", table_.table()};
};

TEST_P(FlowLookup, OfAnEmptyTableFindsNothing) {
  Random random(1);
  expect_equal({flow_key{}, any_flow(random), any_flow(random)});
}

/// Each bit of a flow matters, and so does the order of its addresses and ports.
TEST_P(FlowLookup, TellsFlowsThatDifferInOneBit) {
  const flow_key key = to_key({.is_ipv6 = true,
                               .source = {0x20010DB800000000, 1},
                               .destination = {0x20010DB800000000, 2},
                               .source_port = 1000,
                               .destination_port = 2000,
                               .protocol = 17,
                               .vlan = 3});
  insert(key);
  std::vector<flow_key> others;
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::uint64_t flipped = std::uint64_t{1} << bit;
    for (int word = 0; word < 2; ++word) {
      others.emplace_back(key).source[word] ^= flipped;
      others.emplace_back(key).destination[word] ^= flipped;
    }
    if (flipped > FLOWS_FLAGS_MASK) others.emplace_back(key).tuple ^= flipped;
  }
  Flow back = to_flow(key);
  std::swap(back.source, back.destination);
  std::swap(back.source_port, back.destination_port);
  others.push_back(to_key(back));
  expect_equal(others);
  for (const flow_key& other : others) insert(other);
  expect_equal({});
}

/// TCP flags are next to the key but do not belong to it. The counters equal the counts.
TEST_P(FlowLookup, FindsARecordThatWasCountedInto) {
  Random random(2);
  const flow_key key = any_flow(random);
  insert(key);
  flow_record& record = table_.record(oracle_.begin()->second);
  count(record, {.bytes = 100, .time = 9, .tcp_flags = 0x02});
  count(record, {.bytes = 50, .time = 8, .tcp_flags = 0x91});
  expect_equal({});
  EXPECT_EQ(counts_of(record), (FlowCounts{.packets = 2, .bytes = 150, .first = 7, .last = 9, .tcp_flags = 0x93}));
  EXPECT_EQ(key_of(record), key);
}

/// An empty slot looks like a slot of digest 0 without a value. The secrets are numbers of Random. The addresses make
/// the first product 0 and the second the fifth secret, so that the digest is 0.
TEST_P(FlowLookup, FindsTheDigestOfNothingBehindAnEmptySlot) {
  Random secrets(kSeed);
  std::array<std::uint64_t, FLOWS_SECRETS> secret{};
  for (std::uint64_t& each : secret) each = secrets.next();
  const flow_key nothing =
      to_key({.is_ipv6 = true, .source = {secret[0], 0}, .destination = {secret[2] ^ 1, secret[3] ^ secret[4]}});
  const auto& view = *static_cast<const flows_view*>(table_.table().view());
  ASSERT_EQ(flows_digest(&view, &nothing), 0U);
  Random random(4);
  flow_key before = any_flow(random);
  while ((flows_digest(&view, &before) & ((1U << view.cuckoo.bits) - 1)) != 0) before = any_flow(random);
  insert(before);
  insert(nothing);
  expect_equal({});
  table_.remove(oracle_.at(before));
  oracle_.erase(before);
  expect_equal({before});
}

TEST_P(FlowLookup, FindsRandomFlowsAtEverySize) {
  Random random(3);
  for (const std::size_t size : {10, 1000, 20'000, 40'000}) {
    while (table_.size() < size / kSanitizerScale) insert(any_flow(random));
    std::vector<flow_key> nobody(5000);
    for (flow_key& key : nobody) key = any_flow(random);
    expect_equal(nobody);
  }
}

/// The flows of a scanner: consecutive addresses and ports.
TEST_P(FlowLookup, FindsFlowsInARow) {
  std::vector<flow_key> nobody;
  for (std::uint32_t i = 0; i < 20'000 / kSanitizerScale; ++i) {
    Flow flow{.is_ipv6 = false,
              .source = {0, 0x0A000001},
              .destination = {0, 0xC0000200 + i / 256},
              .source_port = 40'000,
              .destination_port = static_cast<std::uint16_t>(i % 256),
              .protocol = 6,
              .vlan = 0};
    insert(to_key(flow));
    flow.protocol = 17;
    nobody.push_back(to_key(flow));
  }
  expect_equal(nobody);
}

TEST_P(FlowLookup, FindsTheFlowsOfRealCaptures) {
  const auto folder = shared_data() / "pcap";
  if (!exists(folder)) GTEST_SKIP() << folder << " is not there";
  std::vector<flow_key> nobody;
  for (const char* name : {"snabb_sanitized4k.pcap", "tcpreplay_test.pcap"}) {
    for (const auto& frame : frames_of(folder / name)) {
      flow_key key;
      FlowPacket packet;
      if (read_frame(parse_headers(std::as_bytes(std::span(frame))), frame.data(), key, packet) != FlowFrame::flow)
        continue;
      insert(key);
      Flow other = to_flow(key);
      other.vlan = 99;
      nobody.push_back(to_key(other));
    }
  }
  ASSERT_GT(oracle_.size(), 100U);
  expect_equal(nobody);
}

PENUMBRA_FOR_EACH_ENGINE_AND_SETTING(FlowLookup);

TEST(FlowTable, EqualsAMapThroughRandomChanges) {
  ManualGracePeriods grace_periods;
  FlowTable table(3000, kSeed, grace_periods);
  Oracle oracle;
  std::set<std::uint32_t> removed;  // removed and not yet reclaimed
  std::vector<flow_key> pool(4000);
  Random random(6);
  for (flow_key& key : pool) key = any_flow(random);
  const auto give = [&](const flow_record& record, std::uint8_t /*why*/) {
    const auto number = static_cast<std::uint32_t>(&record - &table.record(0));
    ASSERT_EQ(removed.erase(number), 1U) << "given twice, or not removed";
  };
  for (std::size_t i = 0; i < 200'000 / kSanitizerScale; ++i) {
    const flow_key& key = pool[random.below(static_cast<std::uint32_t>(pool.size()))];
    ASSERT_EQ(table.find(key), right(oracle, key));
    if (const auto found = oracle.find(key); found != oracle.end() && random.below(2) == 0) {
      table.remove(found->second);
      removed.insert(found->second);
      oracle.erase(found);
    } else {
      const auto [what, record] = table.insert(key, 1);
      if (oracle.size() + removed.size() == table.most() && found == oracle.end()) {
        ASSERT_EQ(what, Inserted::full);
      } else {
        ASSERT_FALSE(removed.contains(record)) << "somebody may still be counting into it";
        ASSERT_EQ(what, found == oracle.end() ? Inserted::fresh : Inserted::known);
        ASSERT_EQ(oracle.emplace(key, record).first->second, record);
      }
    }
    if (random.below(50) == 0) table.reclaim(give);
    if (random.below(500) == 0) grace_periods.end_all();
    ASSERT_EQ(table.size(), oracle.size());
    ASSERT_EQ(table.records(), oracle.size() + removed.size());
  }
  Oracle content;
  table.for_each(0, table.end(), [&](std::uint32_t number) {
    EXPECT_TRUE(content.emplace(key_of(table.record(number)), number).second);
  });
  EXPECT_EQ(content, oracle);
  table.reclaim(give, true);
  EXPECT_TRUE(removed.empty());
}

TEST(FlowTable, GivesARecordWithItsLastCountersOnceNobodyHoldsIt) {
  ManualGracePeriods grace_periods;
  FlowTable table(1, kSeed, grace_periods);
  Random random(7);
  const flow_key key = any_flow(random);
  const auto [what, number] = table.insert(key, 1);
  flow_record& record = table.record(number);
  count(record, {.bytes = 10, .time = 1, .tcp_flags = 0});
  table.remove(number, 42);
  std::vector<FlowCounts> given;
  const auto give = [&](flow_record& each, std::uint8_t why) {
    EXPECT_EQ(why, 42);
    given.push_back(counts_of(each));
  };
  table.reclaim(give);
  EXPECT_TRUE(given.empty());
  count(record, {.bytes = 10, .time = 2, .tcp_flags = 0});  // by a reader that found the record before the removal
  EXPECT_EQ(table.insert(key, 3).what, Inserted::full);
  grace_periods.end_all();
  table.reclaim(give);
  ASSERT_EQ(given.size(), 1U);
  EXPECT_EQ(given[0].packets, 2U);
  EXPECT_EQ(table.insert(key, 3).what, Inserted::fresh);
  EXPECT_EQ(counts_of(table.record(number)).packets, 0U);
}

/// The secrets are numbers of Random. A factor that a secret cancels to 0 hides the second factor of its product.
TEST(FlowTable, TakesTwoFlowsOfOneDigestForTwo) {
  NoReaders no_readers;
  FlowTable table(10, kSeed, no_readers);
  const std::uint64_t secret = Random(kSeed).next();
  const flow_key one = to_key({.is_ipv6 = true, .source = {secret, 1}, .destination = {}});
  const flow_key other = to_key({.is_ipv6 = true, .source = {secret, 2}, .destination = {}});
  EXPECT_EQ(table.insert(one, 1).what, Inserted::fresh);
  EXPECT_EQ(table.insert(other, 1).what, Inserted::collision);
  EXPECT_EQ(table.find(other), FlowTable::kNone);
  const auto* const view = static_cast<const flows_view*>(table.table().view());
  std::uint32_t found = 9;
  flows_lookup(*view, &other, &found, 1);
  EXPECT_EQ(found, FlowTable::kNone);
}

TEST(FlowTable, RefusesWhatIsNoFlowAndNoSize) {
  NoReaders no_readers;
  EXPECT_THROW(FlowTable(0, 1, no_readers), std::invalid_argument);
  EXPECT_THROW(FlowTable(FlowTable::kMost + 1, 1, no_readers), std::invalid_argument);
  FlowTable table(FlowTable::kMost, 1, no_readers);
  EXPECT_THROW(table.remove(0), std::invalid_argument);
  EXPECT_THROW(table.remove(1), std::invalid_argument);
  EXPECT_THROW(table.remove(~0U), std::invalid_argument);
}

}  // namespace
}  // namespace penumbra
