// SPDX-License-Identifier: Apache-2.0
//
// Measures IPv4 look-ups on one core: the shader ipv4_dir24_8 on every engine, and DPDK's rte_lpm and rte_fib. All use
// the same table and addresses.
#include <fmt/format.h>

#include <array>
#include <memory>

#include "bench.h"
#include "inputs.h"
#include "lookup_comparison.h"
#include "penumbra/prefetch.h"
#include "pin.h"
#include "rivals/rte_fib.h"
#include "rivals/rte_lpm.h"
#include "tables/dir24_8/dir24_8.h"
#include "tables/dir24_8/dir24_8.shader.h"
#include "tables/ipv4_runs/ipv4_runs.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kAddresses = std::size_t{1}
                                   << 24;  // 64 MiB of input, many times the size of a core's own caches.
constexpr std::size_t kInTurn = kAddresses / 16;
constexpr char kReference[] = "rte_lpm bulk";

/// Measures the upper bound of every look-up in this table. The function prefetches the cache line of each address
/// without waiting, so that only the core's number of outstanding misses limits it.
double prefetches(const dir24_8_view& view, std::span<const std::uint32_t> addresses) {
  const double begin = thread_time();
  for (const std::uint32_t address : addresses) prefetch_line(&view.tbl24[address >> 8]);
  return millions_a_second(addresses.size(), thread_time() - begin);
}

/// Makes dependent loads, one for each address; the inverse is the latency of one load.
double loads_in_turn(const dir24_8_view& view, std::span<const std::uint32_t> addresses) {
  const double begin = thread_time();
  std::uint32_t nothing = 0;
  for (const std::uint32_t address : addresses) {
    nothing = view.tbl24[(address >> 8) + nothing];
    asm volatile("and $0, %0" : "+r"(nothing));  // Always 0, but the core does not know that before the load is done.
  }
  keep(&nothing);
  return millions_a_second(addresses.size(), thread_time() - begin);
}

void compare_bounds(Dir24_8& table, const InputAddresses& set, unsigned rounds, Report& report) {
  const dir24_8_view view = *static_cast<const dir24_8_view*>(table.table().view());
  const std::span addresses(set.addresses);
  const std::vector<Series> series = interleave(
      {{"prefetched", [&] { return prefetches(view, addresses); }, Role::limit},
       {"loaded one after the other", [&] { return loads_in_turn(view, addresses.first(kInTurn)); }, Role::limit}},
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
  for (Table* each : {&table.table(), &runs.table()}) add_engines(*each, contenders);
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
    check<Ipv4>(contenders, set, oracle);
    report.checked(fmt::format("{}: every answer of {} contenders equals the oracle's", set.name, contenders.size()));
    for (const std::size_t batch : kBatches) {
      const Comparison comparison = compare<Ipv4>(contenders, set, batch, options.rounds, kReference, "lookup", report);
      report.bar("scalar lookup / rte_lpm bulk, " + comparison.title,
                 comparison.ratio_of("penumbra scalar, ipv4_dir24_8"), 1.0, true);
      const double rival = comparison.ratio_of("rte_fib AVX-512");
      if (rival > 0 && &set == &sets[0]) {
        report.bar("ipv4_runs / rte_fib AVX-512, " + comparison.title, comparison.best_ratio_of("ipv4_runs") / rival,
                   2.0, true);
      }
    }
    compare_bounds(table, set, options.rounds, report);
  }
}

[[maybe_unused]] const bool kLookupBenchmark =
    register_benchmark({.name = "lookup",
                        .measures = "IPv4 lookups a second on one core: every engine compared with rte_lpm and rte_fib",
                        .needs = "",
                        .cost = {21, 2.7},
                        .takes_routes = true,
                        .run = &run_lookup});

}  // namespace
}  // namespace penumbra::bench
