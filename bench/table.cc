// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of filling and changing an IPv4 table on one core. The tables are Dir24_8 (the lookup table alone),
// Ipv4Fib (with next-hop sets, metrics and neighbours, as in the router) and DPDK's rte_fib.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>

#include "bench.h"
#include "churn_script.h"
#include "functions/ipv4/ipv4.h"
#include "inputs.h"
#include "pin.h"
#include "rivals/rte_fib.h"
#include "rivals/rte_lpm.h"
#include "tables/dir24_8/dir24_8.h"

namespace penumbra::bench {
namespace {

constexpr char kRivalName[] = "rte_fib";
constexpr std::size_t kChanges = 200'000;  // Followed by as many changes that undo them.
constexpr std::size_t kSampleAddresses = 1'000'000;
constexpr std::size_t kLpmPrefixes = 50'000;

/// Returns the ports that a route list names, as a router would have them.
std::vector<PortInfo> ports_of(const control::RouteList& list) {
  std::set<std::string> names;
  for (const auto& target : list.targets) {
    for (const auto& next_hop : target.next_hops) names.insert(next_hop.port);
  }
  std::vector<PortInfo> ports;
  for (const std::string& name : names) {
    PortInfo port;
    port.name = name;
    port.index = static_cast<std::uint16_t>(ports.size());
    ports.push_back(std::move(port));
  }
  return ports;
}

/// A table that can be filled and changed.
class Changeable {
 public:
  virtual ~Changeable() = default;
  virtual const std::string& name() const = 0;
  virtual Role role() const { return Role::ours; }
  virtual void load(const InputTable& table) = 0;  ///< The table must be empty.
  virtual void change(const Change& change) = 0;
  virtual void commit() = 0;
};

class LookupTable final : public Changeable {
 public:
  const std::string& name() const override { return name_; }
  void load(const InputTable& table) override { table_.load(table.entries); }
  void change(const Change& change) override {
    if (change.after) {
      table_.insert(change.prefix, *change.after);
    } else {
      table_.remove(change.prefix);
    }
  }
  void commit() override { table_.commit(); }
  std::uint16_t match(std::uint32_t address) const {
    const auto entry = table_.match(Ipv4Address{address});
    return entry ? entry->next_hop : Dir24_8::kNoRoute;
  }

 private:
  std::string name_ = "penumbra Dir24_8";
  NoReaders no_readers_;
  Dir24_8 table_{no_readers_};
};

class RouterTable final : public Changeable {
 public:
  explicit RouterTable(const InputTable& table)
      : targets_(table.routes.targets), ports_(ports_of(table.routes)), fib_(ports_, no_readers_) {}

  const std::string& name() const override { return name_; }
  void load(const InputTable& table) override { fib_.load(table.routes); }
  void change(const Change& change) override {
    if (change.after) {
      fib_.replace_route(change.prefix, change.metric, targets_[*change.after]);
    } else {
      fib_.remove_route(change.prefix, change.metric);
    }
  }
  void commit() override { fib_.commit(); }
  std::string match(std::uint32_t address) const {
    const auto answer = fib_.lookup(Ipv4Address{address});
    return answer ? answer->target : "";
  }
  std::string text(std::uint16_t next_hop) const {
    return next_hop == Dir24_8::kNoRoute ? "" : control::to_string(targets_[next_hop]);
  }

 private:
  std::string name_ = "penumbra Ipv4Fib";
  std::vector<control::RouteTarget> targets_;
  std::vector<PortInfo> ports_;
  NoReaders no_readers_;
  ipv4::Ipv4Fib fib_;
};

class RivalTable final : public Changeable {
 public:
  RivalTable(HugeHeap& heap, std::size_t prefixes)
      : fib_(heap, static_cast<std::uint32_t>(prefixes), RteFib::kMostGroups),
        lookup_(fib_, RteFibLookup::Kind::scalar) {}

  const std::string& name() const override { return name_; }
  Role role() const override { return Role::rival; }
  void load(const InputTable& table) override {
    for (const auto& entry : table.entries) fib_.insert(entry.prefix, entry.next_hop);
  }
  void change(const Change& change) override {
    if (change.after) {
      fib_.insert(change.prefix, *change.after);
    } else {
      fib_.remove(change.prefix);
    }
  }
  void commit() override {}
  LookupContender& lookup() { return lookup_; }

 private:
  std::string name_ = kRivalName;
  RteFib fib_;
  RteFibLookup lookup_;
};

/// The three filled tables on which the changes are measured.
struct Tables {
  Tables(HugeHeap& heap, const InputTable& input) : router(input), rival(heap, input.entries.size() + kChanges) {
    for (Changeable* table : all()) table->load(input);
  }
  std::vector<Changeable*> all() { return {&lookup, &router, &rival}; }

  LookupTable lookup;
  RouterTable router;
  RivalTable rival;
};

/// Throws WrongAnswer unless all three give the oracle's answers.
void check(Tables& tables, const InputTable& input, const Oracle& oracle, std::uint64_t seed) {
  const auto addresses = prefix_addresses(input, kSampleAddresses, seed).addresses;
  const std::vector<std::uint16_t> right = next_hops<Ipv4>(oracle, addresses);
  std::vector<std::uint16_t> rival(right.size());
  tables.rival.lookup().answers(addresses, LookupContender::kMostBatch, rival.data());
  for (std::size_t i = 0; i < right.size(); ++i) {
    const auto require = [&](const std::string& name, const auto& given, const auto& wanted) {
      if (given == wanted) return;
      throw WrongAnswer(fmt::format("{}: {} leads to {}, the oracle says {}", name,
                                    to_string(Ipv4Address{addresses[i]}), given, wanted));
    };
    require("Dir24_8", tables.lookup.match(addresses[i]), right[i]);
    require("Ipv4Fib", tables.router.match(addresses[i]), tables.router.text(right[i]));
    require(kRivalName, rival[i], right[i]);
  }
}

void make_changes(Changeable& table, std::span<const Change> changes) {
  constexpr std::size_t kPerCommit = 100;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    table.change(changes[i]);
    if (i % kPerCommit == kPerCommit - 1) table.commit();
  }
  table.commit();
}

/// Returns the seconds to make an empty table with `make` and fill it.
template <class Make>
double load_time(const InputTable& input, Make make) {
  const double begin = thread_time();
  const auto table = make();
  table->load(input);
  return thread_time() - begin;
}

/// Makes a contender of load_time(), which loads twice and counts the second time, because the first contender pays for
/// the memory that the operating system provides to all.
template <class Make>
Contender loading(const std::string& name, const InputTable& input, Make make, Role role = Role::ours) {
  return {name,
          [&input, make] {
            load_time(input, make);
            return load_time(input, make);
          },
          role};
}

void compare_loads(const Options& options, Report& report, const InputTable& input, HugeHeap& heap) {
  const auto prefixes = input.entries.size();
  const std::vector<Series> loads = interleave(
      {loading("penumbra Dir24_8", input, [] { return std::make_unique<LookupTable>(); }),
       loading("penumbra Ipv4Fib", input, [&input] { return std::make_unique<RouterTable>(input); }),
       loading(
           kRivalName, input, [&heap, prefixes] { return std::make_unique<RivalTable>(heap, prefixes); }, Role::rival)},
      options.rounds);
  report.compare("load into a new table", "seconds", loads, kRivalName);
  report.bar("seconds to load Dir24_8", spread(loads[0].samples).median, 1.0, false);
  report.bar("seconds to load Ipv4Fib", spread(loads[1].samples).median, 1.0, false);

  RteLpm lpm(heap, kLpmPrefixes, RteFib::kMostGroups);
  const std::size_t most = std::min(kLpmPrefixes, prefixes);
  const double begin = thread_time();
  for (std::size_t i = prefixes - most; i < prefixes; ++i)
    lpm.insert(input.entries[i].prefix, input.entries[i].next_hop);
  report.note(
      fmt::format("rte_lpm_add searches the rules of a length one by one, so it is left out: the last {} of "
                  "these prefixes alone take {:.2f} s, and the time grows with the square of their number",
                  most, thread_time() - begin));
}

void run_table(const Options& options, Report& report) {
  pin_to_first_core();
  const InputTable input = input_table(options);
  report.input("table", input.description);
  const double first_load = load_time(input, [] { return std::make_unique<LookupTable>(); });
  HugeHeap heap("rivals", std::size_t{2} << 30);
  Tables tables(heap, input);
  check(tables, input, Oracle(input.entries), options.seed);
  report.checked(
      fmt::format("after loading: {} addresses in the prefixes, three tables, as the oracle has it", kSampleAddresses));
  for (const ChurnScript& script :
       {random_churn(input, kChanges, options.seed), bgp_churn(input, kChanges, options.seed)}) {
    report.input(script.name, script.description);
    for (Changeable* table : tables.all()) make_changes(*table, script.changes);
    check(tables, input, Oracle(script.result), options.seed);
    for (Changeable* table : tables.all()) make_changes(*table, script.undo);
    check(tables, input, Oracle(input.entries), options.seed);
    report.checked(fmt::format("{}: as the oracle has it after the changes and after undoing them", script.name));
    std::vector<Contender> turns;
    for (Changeable* table : tables.all()) {
      turns.push_back({table->name(),
                       [&script, table] {
                         const double begin = thread_time();
                         make_changes(*table, script.changes);
                         make_changes(*table, script.undo);
                         return static_cast<double>(script.changes.size() + script.undo.size()) /
                                (thread_time() - begin);
                       },
                       table->role()});
    }
    const std::vector<Series> series = interleave(turns, options.rounds);
    report.compare(script.name, "changes/s", series, kRivalName);
    report.bar("changes/s, Dir24_8, " + script.name, spread(series[0].samples).median, 500'000, true);
    report.bar("changes/s, Ipv4Fib, " + script.name, spread(series[1].samples).median, 500'000, true);
  }
  compare_loads(options, report, input, heap);
  report.note(
      fmt::format("the very first load of a process, into memory that the system has yet to find and clear: "
                  "Dir24_8 {:.3f} s",
                  first_load));
}

[[maybe_unused]] const bool kTableBenchmark =
    register_benchmark({.name = "table",
                        .measures = "filling and changing an IPv4 table: seconds to load, changes a second",
                        .needs = "",
                        .cost = {20, 2.8},
                        .takes_routes = true,
                        .run = &run_table});

}  // namespace
}  // namespace penumbra::bench
