// SPDX-License-Identifier: Apache-2.0
//
// IPv4 lookups on one core: the shader ipv4_dir24_8 on every engine beside DPDK's rte_lpm and rte_fib, the same table
// and addresses for all.
#include <fmt/format.h>

#include <array>
#include <memory>

#include "bench.h"
#include "inputs.h"
#include "lookup_contender.h"
#include "penumbra/engine.h"
#include "pin.h"
#include "rivals/rte_fib.h"
#include "rivals/rte_lpm.h"
#include "shaders/dir24_8/dir24_8.h"
#include "shaders/dir24_8/dir24_8.shader.h"
#include "shaders/ipv4_runs/ipv4_runs.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kAddresses = std::size_t{1} << 24;  // 64 MiB of input: many times what a core's own caches hold
constexpr std::array<std::size_t, 2> kBatches{64, 4096};
constexpr std::size_t kInTurn = kAddresses / 16;
constexpr char kReference[] = "rte_lpm bulk";

/// Penumbra's table through an engine.
class EngineLookup final : public LookupContender {
 public:
  EngineLookup(const std::string& engine, Table& table)
      : name_("penumbra " + engine + ", " + table.name()), engine_(create_engine(engine)) {
    engine_->use_table(table);
    queue_ = engine_->open_queue();
    batch_.shader = engine_->find_shader(table.name());
    batch_.table = &table;
  }

  bool has_shader() const { return batch_.shader != nullptr; }
  const std::string& name() const override { return name_; }
  void pass(std::span<const std::uint32_t> addresses, std::size_t batch) override {
    std::array<std::uint16_t, kMostBatch> found;
    for_each_batch(addresses.size(), batch, [&](std::size_t at, std::size_t count) {
      look_up(addresses.subspan(at, count), found.data());
      keep(found.data());
    });
  }
  void answers(std::span<const std::uint32_t> addresses, std::size_t batch, std::uint16_t* next_hops) override {
    for_each_batch(addresses.size(), batch,
                   [&](std::size_t at, std::size_t count) { look_up(addresses.subspan(at, count), next_hops + at); });
  }

 private:
  /// One batch, waited for.
  void look_up(std::span<const std::uint32_t> addresses, std::uint16_t* next_hops) {
    batch_.items = static_cast<std::uint32_t>(addresses.size());
    batch_.inputs[0] = addresses.data();
    batch_.outputs[0] = next_hops;
    if (queue_->submit(batch_) == EngineQueue::Submitted::done) return;
    while (queue_->poll() == nullptr) {
    }
  }

  std::string name_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<EngineQueue> queue_;
  Batch batch_;
};

double millions_a_second(std::size_t lookups, double seconds) {
  return static_cast<double>(lookups) / seconds * 1e-6;
}

/// What no lookup in this table can beat, however it is written: asks for the cache line of each address and does not
/// wait, so that nothing but the core's number of outstanding misses holds it up.
double prefetches(const dir24_8_view& view, std::span<const std::uint32_t> addresses) {
  const double begin = thread_time();
  for (const std::uint32_t address : addresses) __builtin_prefetch(&view.tbl24[address >> 8]);
  return millions_a_second(addresses.size(), thread_time() - begin);
}

/// A load for each address that waits for the one before: the inverse is the latency of one.
double loads_in_turn(const dir24_8_view& view, std::span<const std::uint32_t> addresses) {
  const double begin = thread_time();
  std::uint32_t nothing = 0;
  for (const std::uint32_t address : addresses) {
    nothing = view.tbl24[(address >> 8) + nothing];
    asm volatile("and $0, %0" : "+r"(nothing));  // 0, but a core does not know before the load is done
  }
  keep(&nothing);
  return millions_a_second(addresses.size(), thread_time() - begin);
}

/// Throws WrongAnswer unless every contender gives the oracle's answer to every address, in every batch size.
void check(std::span<const std::unique_ptr<LookupContender>> contenders, const InputAddresses& input,
           const Oracle& oracle) {
  const std::vector<std::uint16_t> right = oracle.match(input.addresses);
  std::vector<std::uint16_t> given(right.size());
  for (const auto& contender : contenders) {
    for (const std::size_t batch : kBatches) {
      std::fill(given.begin(), given.end(), static_cast<std::uint16_t>(~right[0]));
      contender->answers(input.addresses, batch, given.data());
      const auto wrong = std::mismatch(right.begin(), right.end(), given.begin());
      if (wrong.first == right.end()) continue;
      const auto at = static_cast<std::size_t>(wrong.first - right.begin());
      throw WrongAnswer(fmt::format("{}: {} leads to {}, the oracle says {}", contender->name(),
                                    to_string(Ipv4Address{input.addresses[at]}), given[at], right[at]));
    }
  }
}

void compare(std::span<const std::unique_ptr<LookupContender>> contenders, const InputAddresses& set, std::size_t batch,
             unsigned rounds, Report& report) {
  std::vector<Contender> turns;
  turns.reserve(contenders.size());
  for (const auto& contender : contenders) {
    turns.push_back({contender->name(), [&set, batch, lookup = contender.get()] {
                       const double begin = thread_time();
                       lookup->pass(set.addresses, batch);
                       return millions_a_second(set.addresses.size(), thread_time() - begin);
                     }});
  }
  const std::vector<Series> series = interleave(turns, rounds);
  const std::string title = fmt::format("{}, batches of {}", set.name, batch);
  const std::vector<double> ratios = report.compare(title, "M lookups/s/core", series, kReference);
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (series[i].name == "penumbra scalar, ipv4_dir24_8") {
      report.bar("scalar lookup / rte_lpm bulk, " + title, ratios[i], 1.0, true);
    }
  }
}

void compare_bounds(Dir24_8& table, const InputAddresses& set, unsigned rounds, Report& report) {
  const dir24_8_view view = *static_cast<const dir24_8_view*>(table.table().view());
  const std::span addresses(set.addresses);
  const std::vector<Series> series =
      interleave({{"prefetched", [&] { return prefetches(view, addresses); }},
                  {"loaded one after the other", [&] { return loads_in_turn(view, addresses.first(kInTurn)); }}},
                 rounds);
  report.compare(set.name + ", bound: the cache line of tbl24 for each address and nothing else", "M/s/core", series,
                 "");
}

void run_lookup(const Options& options, Report& report) {
  pin_to_first_core();
  const InputTable input = input_table(options);
  report.input("table", input.description);

  NoReaders no_readers;
  Dir24_8 table(no_readers);
  table.load(input.entries);
  Ipv4Runs runs(table.table(), no_readers);
  HugeHeap heap("rivals", std::size_t{1} << 30);
  const auto prefixes = static_cast<std::uint32_t>(input.entries.size());
  auto lpm = std::make_unique<RteLpm>(heap, prefixes, RteFib::kMostGroups);
  lpm->fill(input.entries);
  RteFib fib(heap, prefixes, RteFib::kMostGroups);
  for (const auto& entry : input.entries) fib.insert(entry.prefix, entry.next_hop);

  std::vector<std::unique_ptr<LookupContender>> contenders;
  for (const EngineInfo& info : engines()) {
    if (!info.probe().available) continue;
    for (Table* each : {&table.table(), &runs.table()}) {
      auto lookup = std::make_unique<EngineLookup>(info.name, *each);
      if (lookup->has_shader()) contenders.push_back(std::move(lookup));
    }
  }
  contenders.push_back(std::move(lpm));
  contenders.push_back(std::make_unique<RteFibLookup>(fib, RteFibLookup::Kind::scalar));
  if (RteFibLookup::available(fib, RteFibLookup::Kind::avx512)) {
    contenders.push_back(std::make_unique<RteFibLookup>(fib, RteFibLookup::Kind::avx512));
  } else {
    report.note("rte_fib's AVX-512 lookup is not available on this machine");
  }
  report.note("rte_lpm has 4-byte entries, rte_fib and penumbra 2-byte ones; all tables are in transparent huge pages");

  const Oracle oracle(input.entries);
  const std::array sets{uniform_addresses(kAddresses, options.seed), prefix_addresses(input, kAddresses, options.seed),
                        trace_addresses(input, kAddresses, 100'000, 1.1, options.seed)};
  for (const InputAddresses& set : sets) {
    report.input(set.name, set.description);
    check(contenders, set, oracle);
    report.checked(fmt::format("{}: every answer of {} contenders equals the oracle's", set.name, contenders.size()));
    for (const std::size_t batch : kBatches) compare(contenders, set, batch, options.rounds, report);
    compare_bounds(table, set, options.rounds, report);
  }
}

[[maybe_unused]] const bool kLookupBenchmark =
    register_benchmark({.name = "lookup",
                        .measures = "IPv4 lookups a second on one core: every engine beside rte_lpm and rte_fib",
                        .needs = "",
                        .seconds = 60,
                        .takes_routes = true,
                        .run = &run_lookup});

}  // namespace
}  // namespace penumbra::bench
