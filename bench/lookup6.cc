// SPDX-License-Identifier: Apache-2.0
//
// Measures IPv6 look-ups on one core: every structure on every engine, and DPDK's rte_lpm6 and rte_fib6. All use the
// same table and addresses.
#include <array>
#include <memory>
#include <vector>

#include "bench.h"
#include "inputs.h"
#include "lookup_comparison.h"
#include "pin.h"
#include "rivals/rte_ipv6.h"
#include "tables/ipv6_lengths/ipv6_lengths.h"
#include "tables/ipv6_runs/ipv6_runs.h"
#include "tables/ipv6_trie/ipv6_trie.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kIpv6Addresses = std::size_t{1} << 22;  // 64 MiB of input.
constexpr char kIpv6Reference[] = "rte_lpm6 bulk";

void run_lookup6(const Options& options, Report& report) {
  pin_to_first_core();
  const Ipv6InputTable input = ipv6_input_table(options);
  report.input("table", input.description);

  NoReaders no_readers;
  Ipv6Trie trie(no_readers);
  Ipv6Lengths lengths(no_readers);
  Ipv6Runs runs(no_readers);
  // The heap must outlive the objects in it.
  HugeHeap heap("rivals", std::size_t{2} << 30);
  RteFib6 fib(heap, input.entries);
  std::vector<std::unique_ptr<Ipv6LookupContender>> contenders;
  for (Ipv6Lookup* each : std::array<Ipv6Lookup*, 3>{&trie, &lengths, &runs}) {
    each->load(input.entries);
    add_engines(each->table(), contenders);
  }
  contenders.push_back(std::make_unique<RteLpm6>(heap, input.entries));
  contenders.push_back(std::make_unique<RteFib6Lookup>(fib, RteFib6Lookup::Kind::scalar));
  if (RteFib6Lookup::available(fib, RteFib6Lookup::Kind::avx512)) {
    contenders.push_back(std::make_unique<RteFib6Lookup>(fib, RteFib6Lookup::Kind::avx512));
  } else {
    report.note("rte_fib6's AVX-512 lookup is not available on this machine");
  }
  report.note("rte_lpm6 and rte_fib6 take addresses as they are in packets; all tables are in transparent huge pages");

  const OracleOf<Ipv6> oracle(input.entries);
  const std::array sets{prefix_addresses(input, kIpv6Addresses, options.seed),
                        trace_addresses(input, kIpv6Addresses, 100'000, 1.1, options.seed)};
  for (const auto& set : sets) {
    report.input(set.name, set.description);
    check<Ipv6>(contenders, set, oracle);
    report.checked(fmt::format("{}: every answer of {} contenders equals the oracle's", set.name, contenders.size()));
    for (const std::size_t batch : kBatches) {
      const Comparison comparison =
          compare<Ipv6>(contenders, set, batch, options.rounds, kIpv6Reference, "lookup6", report);
      for (const char* table : {"ipv6_lengths", "ipv6_trie"}) {
        report.bar(fmt::format("{} with gopt / rte_lpm6 bulk, {}", table, comparison.title),
                   comparison.ratio_of(fmt::format("penumbra gopt, {}", table)), 2.0, true);
      }
      const double fib_ratio = comparison.ratio_of("rte_fib6 AVX-512");
      if (fib_ratio == 0) continue;
      report.bar("ipv6_runs / rte_fib6 AVX-512, " + comparison.title, comparison.best_ratio_of("ipv6_runs") / fib_ratio,
                 4.0, true);
    }
  }
}

[[maybe_unused]] const bool kLookup6Benchmark = register_benchmark(
    {.name = "lookup6",
     .measures = "IPv6 lookups a second on one core: every structure compared with rte_lpm6 and rte_fib6",
     .needs = "",
     .cost = {17, 1.6},
     .takes_routes = true,
     .run = &run_lookup6});

}  // namespace
}  // namespace penumbra::bench
