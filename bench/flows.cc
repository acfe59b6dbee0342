// SPDX-License-Identifier: Apache-2.0
//
// Flows looked up by their 5-tuples on one core: the shader flows_lookup on every engine beside DPDK's rte_hash, by the
// number of flows; and with each found flow's packet counted in its record.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "bench.h"
#include "lookup_contender.h"
#include "penumbra/engine.h"
#include "pin.h"
#include "rivals/rte_hash.h"
#include "shaders/flows/flow_key.h"
#include "shaders/flows/flow_table.h"

namespace penumbra::bench {
namespace {

constexpr std::array<std::size_t, 3> kFlowCounts{16'000, 250'000, 12'000'000};
constexpr std::size_t kGibibyteOfFlows = 12'000'000;
constexpr std::array<std::size_t, 2> kFlowBatches{64, 4096};
constexpr std::size_t kFlowSearches = std::size_t{1} << 22;
constexpr char kFlowRival[] = "rte_hash bulk, hashes precomputed";

/// Different flows for different numbers below 2^48, one of four of IPv6.
flow_key numbered_flow(std::uint64_t number) {
  const std::uint64_t mixed = Random::mixed(number);
  Flow flow{.is_ipv6 = number % 4 == 0,
            .source = {0, 0x0A000000 | (number >> 24 & 0xFFFFFF)},
            .destination = {0, mixed >> 32},
            .source_port = static_cast<std::uint16_t>(number),
            .destination_port = static_cast<std::uint16_t>(number >> 16 & 0xFF),
            .protocol = static_cast<std::uint8_t>(mixed % 3 == 0 ? 17 : 6),
            .vlan = 0};
  if (flow.is_ipv6) flow.source.high = flow.destination.high = 0x20010DB800000000 | (mixed & 0xFFFF);
  return to_key(flow);
}

/// What is searched: random flows, one of eight unknown.
struct FlowSearches {
  FlowSearches(const FlowTable& table, std::size_t flows, std::uint64_t seed) {
    Random random(seed);
    for (std::size_t i = 0; i < kFlowSearches; ++i) {
      const bool known = random.below(8) != 0;
      keys.push_back(numbered_flow(random.below(static_cast<std::uint32_t>(flows)) + (known ? 0 : flows)));
      right.push_back(table.find(keys.back()));
      if (known != (right.back() != FlowTable::kNone)) throw WrongAnswer("a flow that was inserted is not there");
    }
  }
  std::vector<flow_key> keys;
  std::vector<std::uint32_t> right;
};

/// Looks all keys up and hands each batch's records to `use(offset, count, records)`.
class FlowSearcher {
 public:
  FlowSearcher() = default;
  FlowSearcher(const FlowSearcher&) = delete;
  FlowSearcher& operator=(const FlowSearcher&) = delete;
  virtual ~FlowSearcher() = default;
  using Use = std::function<void(std::size_t at, std::size_t count, const std::uint32_t* records)>;
  virtual void search(const FlowSearches& searches, std::size_t batch, const Use& use) = 0;
};

class FlowsOnEngine final : public FlowSearcher {
 public:
  FlowsOnEngine(const std::string& engine, Table& table) : engine_(create_engine(engine)) {
    engine_->use_table(table);
    queue_ = engine_->open_queue();
    batch_.shader = engine_->find_shader(table.name());
    batch_.table = &table;
  }
  bool has_shader() const { return batch_.shader != nullptr; }
  void search(const FlowSearches& searches, std::size_t batch, const Use& use) override {
    std::array<std::uint32_t, LookupContender::kMostBatch> records;
    for_each_batch(searches.keys.size(), batch, [&](std::size_t at, std::size_t count) {
      batch_.items = static_cast<std::uint32_t>(count);
      batch_.inputs[0] = searches.keys.data() + at;
      batch_.outputs[0] = records.data();
      if (queue_->submit(batch_) != EngineQueue::Submitted::done) {
        while (queue_->poll() == nullptr) {
        }
      }
      use(at, count, records.data());
    });
  }

 private:
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<EngineQueue> queue_;
  Batch batch_;
};

/// With keys of 48 bytes: of that length rte_hash compares keys by vector instructions, of 40 it does not.
class FlowsOfRival final : public FlowSearcher {
 public:
  FlowsOfRival(HugeHeap& heap, const FlowTable& table, std::size_t flows, const FlowSearches& searches)
      : table_(heap, flows, sizeof(Key)) {
    for (std::size_t i = 0; i < flows; ++i) {
      const Key key{numbered_flow(i)};
      table_.insert(&key, table.find(key.flow));
    }
    keys_.reserve(searches.keys.size());
    for (const flow_key& flow : searches.keys) {
      const Key& key = keys_.emplace_back(Key{flow});
      hashes_.push_back(table_.hash(&key));
      pointers_.push_back(&key);
    }
  }
  void search(const FlowSearches& searches, std::size_t batch, const Use& use) override {
    std::array<std::uint64_t, LookupContender::kMostBatch> found;
    std::array<std::uint32_t, LookupContender::kMostBatch> records;
    for_each_batch(searches.keys.size(), batch, [&](std::size_t at, std::size_t count) {
      for_each_batch(count, RteHash::kMostAtOnce, [&](std::size_t part, std::size_t some) {
        table_.find(pointers_.data() + at + part, hashes_.data() + at + part, some, found.data() + part);
      });
      for (std::size_t i = 0; i < count; ++i) records[i] = static_cast<std::uint32_t>(found[i]);
      use(at, count, records.data());
    });
  }

 private:
  struct Key {
    flow_key flow;
    std::uint64_t padding = 0;
  };
  RteHash table_;
  std::vector<Key> keys_;
  std::vector<std::uint32_t> hashes_;
  std::vector<const void*> pointers_;
};

using FlowSearchers = std::vector<std::pair<std::string, std::unique_ptr<FlowSearcher>>>;

void check_flows(const FlowSearchers& searchers, const FlowSearches& searches) {
  for (const auto& [name, searcher] : searchers) {
    for (const std::size_t batch : kFlowBatches) {
      searcher->search(searches, batch, [&](std::size_t at, std::size_t count, const std::uint32_t* records) {
        for (std::size_t i = 0; i < count; ++i) {
          if (records[i] == searches.right[at + i]) continue;
          throw WrongAnswer(
              fmt::format("{}: search {} gives {}, right is {}", name, at + i, records[i], searches.right[at + i]));
        }
      });
    }
  }
}

double flow_rate(FlowSearcher& searcher, const FlowSearches& searches, std::size_t batch,
                 const FlowSearcher::Use& use) {
  const double begin = thread_time();
  searcher.search(searches, batch, use);
  return static_cast<double>(searches.keys.size()) / (thread_time() - begin) * 1e-6;
}

std::vector<Series> measure_flows(const FlowSearchers& searchers, const FlowSearches& searches, std::size_t batch,
                                  const FlowSearcher::Use& use, unsigned rounds) {
  std::vector<Contender> turns;
  for (const auto& [name, searcher] : searchers) {
    turns.push_back({name, [&, of = searcher.get()] { return flow_rate(*of, searches, batch, use); }});
  }
  return interleave(turns, rounds);
}

void run_flows(const Options& options, Report& report) {
  pin_to_first_core();
  for (const std::size_t flows : kFlowCounts) {
    NoReaders no_readers;
    FlowTable table(flows, options.seed, no_readers);
    for (std::size_t i = 0; i < flows; ++i) {
      if (table.insert(numbered_flow(i), 0).what != FlowTable::Inserted::fresh) {
        throw WrongAnswer(fmt::format("flow {} found no place of its own", i));
      }
    }
    const std::string title = fmt::format("{} flows, {}", flows, size_name(table.memory_bytes()));
    report.input(title, "one of four of IPv6; searched at random, one of eight unknown");
    const FlowSearches searches(table, flows, options.seed);
    constexpr std::size_t kBytesAKey = 96;  // buckets, keys with their values, and the ring of free ones
    HugeHeap heap(fmt::format("flows{}", flows), (std::size_t{64} << 20) + kBytesAKey * flows);
    FlowSearchers searchers;
    for (const EngineInfo& info : engines()) {
      if (!info.probe().available) continue;
      auto searcher = std::make_unique<FlowsOnEngine>(info.name, table.table());
      if (searcher->has_shader()) searchers.emplace_back("penumbra " + info.name, std::move(searcher));
    }
    searchers.emplace_back(kFlowRival, std::make_unique<FlowsOfRival>(heap, table, flows, searches));
    check_flows(searchers, searches);
    report.checked(fmt::format("{}: every record of {} contenders is the right one", title, searchers.size()));
    const auto gopt = std::ranges::find(searchers, kGoptWay, &FlowSearchers::value_type::first);
    for (const std::size_t batch : kFlowBatches) {
      const auto look = [](std::size_t, std::size_t, const std::uint32_t* records) { keep(records); };
      const auto series = measure_flows(searchers, searches, batch, look, options.rounds);
      const std::string what = fmt::format("{}, batches of {}", title, batch);
      const auto ratios = report.compare(what, "M lookups/s/core", series, kFlowRival);
      if (flows == kGibibyteOfFlows && gopt != searchers.end()) {
        const auto index = static_cast<std::size_t>(gopt - searchers.begin());
        report.bar("gopt / rte_hash bulk, " + what, ratios[index], 2.0, true);
      }
    }
    searchers.pop_back();  // the rival counts nothing
    const auto count_all = [&table](std::size_t, std::size_t count_of, const std::uint32_t* records) {
      for (std::size_t i = 0; i < count_of; ++i) {
        if (records[i] != FlowTable::kNone)
          count(table.record(records[i]), {.bytes = 64, .time = 1, .tcp_flags = 0x10});
      }
    };
    report.compare(title + ", looked up and counted, batches of 64", "M packets/s/core",
                   measure_flows(searchers, searches, kFlowBatches[0], count_all, options.rounds), kScalarWay);
  }
}

[[maybe_unused]] const bool kFlowsBenchmark =
    register_benchmark({.name = "flows",
                        .measures = "flows looked up by their 5-tuples on one core: every engine beside rte_hash",
                        .needs = "3 GB of memory",
                        .seconds = 300,
                        .takes_routes = false,
                        .run = &run_flows});

}  // namespace
}  // namespace penumbra::bench
