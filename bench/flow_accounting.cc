// SPDX-License-Identifier: Apache-2.0
#include "flow_accounting.h"

#include <fmt/format.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <thread>
#include <vector>

#include "base/random.h"
#include "lookup_contender.h"
#include "on_engine.h"
#include "packet/mbuf_metadata.h"
#include "penumbra/bytes.h"
#include "penumbra/chunk.h"
#include "penumbra/lookup_function.h"
#include "penumbra/table.h"
#include "pin.h"
#include "searching.h"
#include "tables/flows/flows.shader.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kCountedPackets = std::size_t{1} << 21;
/// Most first packets that wait for the function's thread; fewer than its ring holds.
constexpr std::size_t kMostUntold = 32'768;

/// A frame of TCP over IPv4, 64 bytes with the check sequence. fill() makes distinct flows for distinct numbers below
/// 2^40.
constexpr std::array<std::uint8_t, 60> kTcpFrame{2,    0, 0, 0,  0, 1, 2, 0, 0,  0, 0, 2, 8, 0,
                                                 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 6, 0, 0, 10};

class AccountedPackets {
 public:
  AccountedPackets() : frames_(Chunk::kCapacity) {
    for (auto& [bytes, mbuf, metadata] : frames_) {
      std::ranges::copy(kTcpFrame, bytes.begin());
      mbuf.buf_addr = bytes.data();
      mbuf.data_len = kTcpFrame.size();
      mbuf.pkt_len = kTcpFrame.size();
    }
  }

  /// Fills the chunk with a packet of each flow, as if they had been received.
  void fill(Chunk& chunk, const std::uint32_t* flows, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      std::uint8_t* const ip = frames_[i].bytes.data() + 14;
      const std::uint32_t mixed = static_cast<std::uint32_t>(Random::mixed(flows[i]));
      store(ip + 12, __builtin_bswap32(0x0A000000U | (flows[i] >> 16)));
      store(ip + 16, mixed);
      store(ip + 20, static_cast<std::uint16_t>(flows[i]));
      store(ip + 22, std::uint16_t{0xBB01});
      clear_metadata(frames_[i].mbuf);
      chunk.packets[i] = &frames_[i].mbuf;
    }
    chunk.size = static_cast<std::uint16_t>(count);
    std::fill_n(chunk.verdicts.begin(), count, Verdict{});
    chunk.columns.clear();
  }

 private:
  struct alignas(64) Frame {
    std::array<std::uint8_t, kTcpFrame.size()> bytes{};
    rte_mbuf mbuf{};
    PacketMetadata metadata;  ///< The private area follows the mbuf.
  };
  std::vector<Frame> frames_;
};

/// The function on one engine.
class Accounting {
 public:
  Accounting(LookupFunction& function, const std::string& engine)
      : function_(function), on_(engine, *function.table()) {
    chunk_->rx_port = 0;
  }
  bool has_shader() const { return on_.has_shader(); }
  const std::string& name() const { return on_.name(); }

  /// Processes a packet of each flow, and calls `use(offset, count, records)` with the results.
  template <class Use>
  void pass(std::span<const std::uint32_t> flows, Use use) {
    for_each_batch(flows.size(), Chunk::kCapacity, [&](std::size_t at, std::size_t count) {
      packets_.fill(*chunk_, flows.data() + at, count);
      function_.pre_shade(*chunk_);
      on_.run(chunk_->batch);
      use(at, count, static_cast<const std::uint32_t*>(chunk_->batch.outputs[0]));
      function_.post_shade(*chunk_);
    });
  }

 private:
  LookupFunction& function_;
  OnEngine on_;
  AccountedPackets packets_;
  std::unique_ptr<Chunk> chunk_ = std::make_unique<Chunk>();
};

nlohmann::ordered_json exporter(const Function& function) {
  return function.show("exporter", {});
}

/// Opens the flows 0 to `flows` - 1 by a packet of each. Returns the flows opened per second. The function's thread
/// opens them, on another core if there is one.
double open_flows(Accounting& way, const Function& function, std::size_t flows) {
  const double begin = now();
  std::vector<std::uint32_t> some;
  for (std::size_t told = 0; told < flows;) {
    some.clear();
    while (some.size() < kMostUntold / 2 && told < flows) some.push_back(static_cast<std::uint32_t>(told++));
    way.pass(some, [](std::size_t, std::size_t, const std::uint32_t*) {});
    const std::size_t most_waiting = told < flows ? kMostUntold / 2 : 0;
    while (exporter(function)["flows"]["opened"].get<std::size_t>() + most_waiting < told) std::this_thread::yield();
  }
  const double seconds = now() - begin;
  for (const auto& [why, packets] : exporter(function)["not_accounted"].items()) {
    if (packets != 0) throw WrongAnswer(fmt::format("{} packets were not accounted for: {}", packets.dump(), why));
  }
  return static_cast<double>(flows) / seconds;
}

/// Throws WrongAnswer unless each flow has its own record, and every engine finds the same record.
void check_records(std::span<const std::unique_ptr<Accounting>> ways, std::size_t flows) {
  std::vector<std::uint32_t> all(flows), record_of(flows, FLOWS_NO_RECORD);
  for (std::size_t i = 0; i < flows; ++i) all[i] = static_cast<std::uint32_t>(i);
  std::vector<bool> taken(flows + 1);
  for (const auto& way : ways) {
    way->pass(all, [&](std::size_t at, std::size_t count, const std::uint32_t* records) {
      for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t& right = record_of[at + i];
        const bool is_first = way == ways.front();
        const bool is_right =
            is_first ? records[i] != FLOWS_NO_RECORD && records[i] <= flows && !taken[records[i]] : records[i] == right;
        if (!is_right) throw WrongAnswer(fmt::format("{}: flow {} has the record {}", way->name(), at + i, records[i]));
        if (is_first) taken[right = records[i]] = true;
      }
    });
  }
}

}  // namespace

void compare_accounting(std::size_t flows, const Options& options, Report& report) {
  NoReaders no_readers;
  const FunctionInfo* const info = find_function("flows");
  const std::vector<PortInfo> ports(1);
  const std::string text = fmt::format("{{max_flows: {}, idle_timeout: 1440m, active_timeout: 1440m}}", flows);
  const auto function =
      info->create(ConfigNode::parse(text, "flows", "."), FunctionContext{.ports = ports, .grace_periods = no_readers});
  pin_to_last_core();  // The function's thread inherits this core.
  function->bind(ports);
  pin_to_first_core();
  std::vector<std::unique_ptr<Accounting>> ways;
  for (const EngineInfo* engine : engines_here()) {
    auto way = std::make_unique<Accounting>(dynamic_cast<LookupFunction&>(*function), engine->name);
    if (way->has_shader()) ways.push_back(std::move(way));
  }
  const std::string title = fmt::format("{} flows of IPv4, the function as a whole", flows);
  report.note(fmt::format("{}: {:.0f} thousand flows opened a second by their first packets", title,
                          open_flows(*ways.front(), *function, flows) * 1e-3));
  check_records(ways, flows);
  report.checked(fmt::format("{}: each flow has a record of its own, found by {} engines", title, ways.size()));
  Random random(options.seed);
  std::vector<std::uint32_t> packets(kCountedPackets);
  for (std::uint32_t& flow : packets) flow = random.below(static_cast<std::uint32_t>(flows));
  std::vector<Contender> turns;
  turns.reserve(ways.size());
  for (const auto& way : ways) {
    turns.push_back({way->name(), [&packets, of = way.get()] {
                       const double begin = thread_time();
                       of->pass(packets, [](std::size_t, std::size_t, const std::uint32_t*) {});
                       return static_cast<double>(packets.size()) / (thread_time() - begin) * 1e-6;
                     }});
  }
  report.compare(title + ", chunks of 64, known flows at random", "M packets/s/core", interleave(turns, options.rounds),
                 kScalarWay, Place{{"E22", "accounting of flows as a whole", "flows"}, static_cast<double>(flows)});
}

}  // namespace penumbra::bench
