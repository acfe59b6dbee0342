// SPDX-License-Identifier: Apache-2.0
//
// Measures look-ups of flows by their 5-tuples on one core: the shader flows_lookup on every engine, and DPDK's
// rte_hash, by the number of flows. Also measures look-ups that count each found flow's packet in its record, and the
// function `flows` as a whole.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "bench.h"
#include "flow_accounting.h"
#include "numbered_flow.h"
#include "pin.h"
#include "searching.h"
#include "tables/flows/flow_table.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kGibibyteOfFlows = 12'000'000;
constexpr std::array<std::size_t, 3> kFlowCounts{16'000, 250'000, kGibibyteOfFlows};
constexpr std::array<std::size_t, 2> kLargeFlowCounts{48'000'000, FlowTable::kMost};
constexpr std::size_t kFlowSearches = std::size_t{1} << 22;

using FlowSearches = SearchesOf<flow_key, std::uint32_t>;

/// Makes searches of random flows, one in eight unknown.
FlowSearches flow_searches(const FlowTable& table, std::size_t flows, std::uint64_t seed) {
  Random random(seed);
  FlowSearches searches(kFlowSearches);
  for (std::size_t i = 0; i < kFlowSearches; ++i) {
    const bool known = random.below(8) != 0;
    searches.keys[i] = numbered_flow(random.below(static_cast<std::uint32_t>(flows)) + (known ? 0 : flows));
    searches.right[i] = table.find(searches.keys[i]);
    if (known != (searches.right[i] != FlowTable::kNone)) {
      throw WrongAnswer("a flow that was inserted is not there");
    }
  }
  return searches;
}

/// A key of 48 bytes: rte_hash compares keys of that length by vector instructions, but not keys of 40 bytes.
struct RivalFlowKey {
  flow_key flow;
  std::uint64_t padding;
};
/// Number of keys that rte_hash of DPDK 22.11 cannot handle: it computes the position of a key, which takes 64 bytes,
/// in 32 bits. With more keys, rte_hash does not find all inserted keys (seen with 100 million).
constexpr std::size_t kTooManyForRival = (std::size_t{1} << 32) / 64;

void compare_flows(std::size_t flows, const Options& options, Report& report) {
  NoReaders no_readers;
  FlowTable table(flows, options.seed, no_readers);
  for (std::size_t i = 0; i < flows; ++i) {
    if (table.insert(numbered_flow(i), 0).what != FlowTable::Inserted::fresh) {
      throw WrongAnswer(fmt::format("flow {} found no place of its own", i));
    }
  }
  const std::string title = fmt::format("{} flows, {}", flows, size_name(table.memory_bytes()));
  report.input(title, "one of four of IPv6; searched at random, one of eight unknown");
  const FlowSearches searches = flow_searches(table, flows, options.seed);
  std::optional<HugeHeap> heap;  // Memory of the rival.
  SearchersOf<flow_key, std::uint32_t> searchers;
  add_engines(table.table(), searchers);
  const std::size_t ours = searchers.size();
  if (flows < kTooManyForRival) {
    constexpr std::size_t kBytesAKey = 96;  // Buckets, keys with their values, and the ring of free ones.
    heap.emplace(fmt::format("flows{}", flows), (std::size_t{64} << 20) + kBytesAKey * flows);
    auto rival = std::make_unique<RivalSearcher<flow_key, std::uint32_t, RivalFlowKey>>(*heap, flows, searches);
    for (std::size_t i = 0; i < flows; ++i) rival->insert(numbered_flow(i), table.find(numbered_flow(i)));
    searchers.push_back(std::move(rival));
  } else {
    report.note(fmt::format("{}: rte_hash does not find all of so many", title));
  }
  compare_searchers(searchers, searches, title, "flows", flows, flows == kGibibyteOfFlows, options.rounds, report);
  searchers.resize(ours);  // The rival counts nothing.
  const auto count_all = [&table](std::size_t, std::size_t count_of, const std::uint32_t* records) {
    for (std::size_t i = 0; i < count_of; ++i) {
      if (records[i] != FlowTable::kNone) count(table.record(records[i]), {.bytes = 64, .time = 1, .tcp_flags = 0x10});
    }
  };
  report.compare(title + ", looked up and counted, batches of 64", "M packets/s/core",
                 measure_searchers(searchers, searches, kSearchBatches[0], count_all, options.rounds), kScalarWay,
                 Place{{"E22", "flows looked up and counted", "flows"}, static_cast<double>(flows)});
}

void run_flows(const Options& options, Report& report) {
  pin_to_first_core();
  std::vector<std::size_t> counts(kFlowCounts.begin(), kFlowCounts.end());
  if (options.large) counts.insert(counts.end(), kLargeFlowCounts.begin(), kLargeFlowCounts.end());
  for (const std::size_t flows : counts) {
    compare_flows(flows, options, report);
    compare_accounting(flows, options, report);
  }
}

[[maybe_unused]] const bool kFlowsBenchmark = register_benchmark(
    {.name = "flows",
     .measurements = {"E22"},
     .measures = "flows looked up by their 5-tuples on one core: every engine compared with rte_hash",
     .needs = "3 GB of memory; with --large 18 GB",
     .cost = {34, 2},
     .takes_routes = false,
     .run = &run_flows});

}  // namespace
}  // namespace penumbra::bench
