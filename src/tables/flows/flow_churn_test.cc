// SPDX-License-Identifier: Apache-2.0
//
// Counts packets while flows are added to and removed from a nearly full table. Each packet of a found flow must be
// counted in a record of this flow and in no record of another flow.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "base/testing_grace_periods.h"
#include "engines/conformance.h"
#include "flow_table.h"
#include "flow_testing.h"

namespace penumbra {
namespace {

constexpr std::size_t kReaders = 2, kBatch = 64, kFlows = 8'000, kStay = kFlows / 2, kStrangers = 500;
constexpr std::size_t kChanges = 300'000 / kSanitizerScale;

struct Tally {
  std::uint64_t packets = 0, bytes = 0;
  bool operator==(const Tally&) const = default;
};

/// The flows: some are always present, some are added and removed, and some are never added.
struct World {
  World() : keys(kFlows + kStrangers) {
    Random random(9);
    for (flow_key& key : keys) key = any_flow(random);
    for (std::size_t i = 0; i < kFlows; ++i) numbers.emplace(keys[i], i);
  }
  std::vector<flow_key> keys;
  std::map<flow_key, std::size_t, FlowKeyLess> numbers;
};

struct Reader {
  std::vector<Tally> counted = std::vector<Tally>(kFlows);
  std::atomic<std::uint64_t> lookups{0};
  std::uint64_t wrong = 0;
};

/// Looks up flows and counts packets until `over`.
void read(conformance::ShaderQueue& lookup, FlowTable& table, const World& world, QuiescentStates& states,
          std::size_t index, Reader& reader, const std::atomic<bool>& over) {
  Random random(100 + index);
  std::array<std::size_t, kBatch> chosen{};
  std::array<flow_key, kBatch> keys{};
  std::array<std::uint32_t, kBatch> found{};
  while (!over) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      chosen[i] = random.below(static_cast<std::uint32_t>(world.keys.size()));
      keys[i] = world.keys[chosen[i]];
    }
    lookup({keys.data()}, {found.data()}, kBatch, kBatch);
    for (std::size_t i = 0; i < kBatch; ++i) {
      const bool is_there = found[i] != FlowTable::kNone;
      if (is_there ? chosen[i] >= kFlows : chosen[i] < kStay) ++reader.wrong;
      if (!is_there || chosen[i] >= kFlows) continue;
      const auto bytes = static_cast<std::uint32_t>(random.below(1500));
      count(table.record(found[i]), {.bytes = bytes, .time = 1, .tcp_flags = static_cast<std::uint8_t>(bytes)});
      ++reader.counted[chosen[i]].packets;
      reader.counted[chosen[i]].bytes += bytes;
    }
    states.quiescent(index);
    ++reader.lookups;
  }
  states.leave(index);
}

class FlowChurn : public testing::TestWithParam<std::string> {};

TEST_P(FlowChurn, LosesNoPacketAndMixesNoFlows) {
  const World world;
  QuiescentStates states(kReaders);
  FlowTable table(kFlows * 3 / 4, 11, states);
  conformance::ShaderRun run(GetParam(), "flows_lookup", table.table());
  std::vector<Tally> given(kFlows);
  const auto give = [&](flow_record& record, std::uint8_t /*why*/) {
    const FlowCounts counts = counts_of(record);
    Tally& tally = given[world.numbers.at(key_of(record))];
    tally.packets += counts.packets;
    tally.bytes += counts.bytes;
  };
  for (std::size_t i = 0; i < kStay; ++i) ASSERT_EQ(table.insert(world.keys[i], 1).what, FlowTable::Inserted::fresh);
  table.commit();

  std::array<Reader, kReaders> readers;
  std::atomic<bool> over{false};
  std::vector<std::unique_ptr<conformance::ShaderQueue>> queues;
  queues.reserve(kReaders);
  for (std::size_t i = 0; i < kReaders; ++i) queues.push_back(run.open_queue());
  std::vector<std::thread> threads;
  threads.reserve(kReaders);
  for (std::size_t i = 0; i < kReaders; ++i) {
    threads.emplace_back([&, i] { read(*queues[i], table, world, states, i, readers[i], over); });
  }
  Random random(10);
  for (std::size_t i = 0; i < kChanges; ++i) {
    const std::size_t flow = kStay + random.below(kFlows - kStay);
    if (const std::uint32_t record = table.find(world.keys[flow]); record != FlowTable::kNone) {
      table.remove(record);
    } else {
      // The insertion may fail because the table is full until reclaim() frees records.
      table.insert(world.keys[flow], 1);
    }
    table.commit();
    if (i % 16 == 0) table.reclaim(give);
    if (i % (kChanges / 4) != 0) continue;
    for (auto& reader : readers) {
      for (const std::uint64_t before = reader.lookups; reader.lookups == before;) std::this_thread::yield();
    }
  }
  over = true;
  for (auto& thread : threads) thread.join();
  table.for_each(0, table.end(), [&](std::uint32_t number) { table.remove(number); });
  table.reclaim(give, true);
  EXPECT_EQ(table.records(), 0U);

  for (const Reader& reader : readers) EXPECT_EQ(reader.wrong, 0U);
  std::uint64_t come_and_gone = 0;
  for (std::size_t i = 0; i < kFlows; ++i) {
    Tally right;
    for (const Reader& reader : readers) {
      right.packets += reader.counted[i].packets;
      right.bytes += reader.counted[i].bytes;
    }
    ASSERT_EQ(given[i], right) << "flow " << i;
    if (i >= kStay) come_and_gone += right.packets;
  }
  EXPECT_GT(come_and_gone, 0U);
}

/// The table grows from empty to many times its first size during lookups.
TEST_P(FlowChurn, HidesNothingWhileTheTableGrows) {
  const std::size_t size = 200'000 / kSanitizerScale;
  QuiescentStates states(kReaders);
  FlowTable table(size, 12, states);
  conformance::ShaderRun run(GetParam(), "flows_lookup", table.table());
  Random random(13);
  std::vector<flow_key> keys(size);
  for (flow_key& key : keys) key = any_flow(random);
  std::atomic<std::size_t> complete{0};
  std::atomic<std::uint64_t> missed{0};
  std::vector<std::unique_ptr<conformance::ShaderQueue>> queues;
  queues.reserve(kReaders);
  for (std::size_t i = 0; i < kReaders; ++i) queues.push_back(run.open_queue());
  std::vector<std::thread> threads;
  threads.reserve(kReaders);
  for (std::size_t index = 0; index < kReaders; ++index) {
    threads.emplace_back([&, index] {
      Random mine(200 + index);
      std::array<std::uint32_t, kBatch> found{};
      std::array<flow_key, kBatch> asked{};
      for (std::size_t there = 0; there < size; states.quiescent(index)) {
        there = complete;
        if (there == 0) continue;
        for (flow_key& key : asked) key = keys[mine.below(static_cast<std::uint32_t>(there))];
        (*queues[index])({asked.data()}, {found.data()}, kBatch, kBatch);
        for (const std::uint32_t record : found) missed += record == FlowTable::kNone ? 1 : 0;
      }
      states.leave(index);
    });
  }
  for (std::size_t i = 0; i < size; ++i) {
    ASSERT_EQ(table.insert(keys[i], 1).what, FlowTable::Inserted::fresh) << i;
    table.commit();
    complete = i + 1;
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(missed, 0U);
}

PENUMBRA_FOR_EACH_ENGINE(FlowChurn);

}  // namespace
}  // namespace penumbra
