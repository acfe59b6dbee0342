// SPDX-License-Identifier: Apache-2.0
#include "choice_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "base/random.h"
#include "classifying.h"
#include "generated_names.h"
#include "inputs.h"
#include "numbered_flow.h"
#include "numbered_station.h"
#include "on_engine.h"
#include "tables/dir24_8/dir24_8.h"
#include "tables/echo/echo.shader.h"
#include "tables/flows/flow_table.h"
#include "tables/ipv4_runs/ipv4_runs.h"
#include "tables/ipv6_lengths/ipv6_lengths.h"
#include "tables/ipv6_runs/ipv6_runs.h"
#include "tables/ipv6_trie/ipv6_trie.h"
#include "tables/l2/stations.h"
#include "tables/ndn_names/name_table.h"
#include "tables/rules/rule_structures.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kFewInputs = std::size_t{1} << 16;  ///< For tables that fit into caches.
constexpr std::size_t kManyInputs = std::size_t{1}
                                    << 20;  ///< For larger tables: the cache lines in use exceed the caches many times.
constexpr std::size_t kRuleHeaders = kFewInputs;

/// Table sizes for a core's second-level cache, for the third level, and beyond.
constexpr std::array<std::uint32_t, 3> kDestinations{
    2'000, 100'000, 0};  ///< Number of different destinations; 0: every input has a newly drawn one.
constexpr std::array<std::uint32_t, 3> kStations{16'000, 500'000, 16'000'000};
constexpr std::array<std::uint32_t, 3> kFlows{2'000, 100'000, 4'000'000};
constexpr std::array<std::uint32_t, 3> kNames{2'000, 100'000, 2'000'000};
constexpr std::array<std::uint32_t, 3> kRules{64, 1'000, 10'000};
constexpr std::uint32_t kMostLinearRules = 1'000;  ///< Linear search is impractical for more rules.
constexpr std::uint32_t kMostClasses = 64;

std::size_t inputs_for(bool is_large) {
  return is_large ? kManyInputs : kFewInputs;
}

template <class Input, class Answer>
struct Columns {
  NoReaders no_readers;
  std::vector<Input> inputs;
  std::vector<Answer> right;
};

/// Wraps `owner`, which must be derived from Columns.
template <class Owner>
ChoiceWork work_of(std::shared_ptr<Owner> owner, Table& table, std::string size) {
  ChoiceWork work;
  work.size = std::move(size);
  work.table = &table;
  work.inputs = reinterpret_cast<const std::byte*>(owner->inputs.data());
  work.input_bytes = sizeof owner->inputs[0];
  const auto answers = std::as_bytes(std::span(owner->right));
  work.right.assign(answers.begin(), answers.end());
  work.answer_bytes = sizeof owner->right[0];
  work.owner = std::move(owner);
  return work;
}

struct Echo : Columns<std::uint32_t, std::uint16_t> {
  static constexpr std::uint32_t kPorts = 7;
  const echo_view view{kPorts};
  Table table{"echo"};
};

ChoiceWork echo_work(std::uint64_t seed) {
  auto owner = std::make_shared<Echo>();
  owner->table.publish(owner->view, {});
  Random random(seed);
  for (std::size_t i = 0; i < kFewInputs; ++i) {
    owner->inputs.push_back(static_cast<std::uint32_t>(random.next()));
    owner->right.push_back(static_cast<std::uint16_t>(owner->inputs.back() % Echo::kPorts));
  }
  return work_of(owner, owner->table, "no table");
}

/// Draws addresses inside the prefixes, from `different` different ones.
template <class Family>
std::vector<ColumnOf<Family>> destinations(const InputTableOf<Family>& table, std::uint32_t different,
                                           std::uint64_t seed) {
  std::vector<ColumnOf<Family>> all = prefix_addresses(table, different == 0 ? kManyInputs : different, seed).addresses;
  if (different == 0) return all;
  Random random(seed);
  std::vector<ColumnOf<Family>> drawn(kFewInputs);
  for (auto& each : drawn) each = all[random.below(different)];
  return drawn;
}

std::string destinations_in_words(std::uint32_t different) {
  return different == 0 ? "all destinations" : fmt::format("{} destinations", different);
}

/// Both structures with the same prefixes and addresses.
struct Ipv4Work : Columns<std::uint32_t, std::uint16_t> {
  Dir24_8 table{no_readers};
  Ipv4Runs runs{table.table(), no_readers};
};

ChoiceWork ipv4_work(const Options& options, bool runs, std::uint32_t different) {
  const InputTable input = input_table(options);
  auto owner = std::make_shared<Ipv4Work>();
  owner->table.load(input.entries);
  owner->inputs = destinations(input, different, options.seed);
  owner->right = next_hops<Ipv4>(Oracle(input.entries), owner->inputs);
  return work_of(owner, runs ? owner->runs.table() : owner->table.table(), destinations_in_words(different));
}

template <class Structure>
struct Ipv6Work : Columns<ipv6_address, std::uint16_t> {
  Structure table{no_readers};
};

template <class Structure>
ChoiceWork ipv6_work(const Options& options, std::uint32_t different) {
  const Ipv6InputTable input = ipv6_input_table(options);
  auto owner = std::make_shared<Ipv6Work<Structure>>();
  owner->table.load(input.entries);
  owner->inputs = destinations(input, different, options.seed);
  owner->right = next_hops<Ipv6>(OracleOf<Ipv6>(input.entries), owner->inputs);
  return work_of(owner, owner->table.table(), destinations_in_words(different));
}

/// Returns a number below `known` (in the table) in seven of eight cases, else an unknown number.
std::uint64_t drawn_number(Random& random, std::uint32_t known) {
  const std::uint64_t number = random.below(known);
  return random.below(8) != 0 ? number : number + known;
}

struct Stations : Columns<std::uint64_t, std::uint16_t> {
  explicit Stations(std::uint64_t seed) : table(seed, no_readers) {}
  StationTable table;
};

ChoiceWork stations_work(std::uint64_t seed, std::uint32_t stations) {
  auto owner = std::make_shared<Stations>(seed);
  const auto port_of = [](std::uint64_t number) { return static_cast<std::uint16_t>(1 + number % 4); };
  owner->table.reserve(stations);
  for (std::uint32_t i = 0; i < stations; ++i) owner->table.insert(numbered_station(i), port_of(i));
  owner->table.commit();
  Random random(seed);
  for (std::size_t i = 0; i < inputs_for(stations == kStations.back()); ++i) {
    const std::uint64_t number = drawn_number(random, stations);
    owner->inputs.push_back(numbered_station(number).key());
    owner->right.push_back(number < stations ? port_of(number) : StationTable::kUnknown);
  }
  return work_of(owner, owner->table.table(), fmt::format("{} stations", stations));
}

struct Flows : Columns<flow_key, std::uint32_t> {
  Flows(std::size_t flows, std::uint64_t seed) : table(flows, seed, no_readers) {}
  FlowTable table;
};

ChoiceWork flows_work(std::uint64_t seed, std::uint32_t flows) {
  auto owner = std::make_shared<Flows>(flows, seed);
  for (std::uint32_t i = 0; i < flows; ++i) owner->table.insert(numbered_flow(i), 0);
  Random random(seed);
  for (std::size_t i = 0; i < inputs_for(flows == kFlows.back()); ++i) {
    owner->inputs.push_back(numbered_flow(drawn_number(random, flows)));
    owner->right.push_back(owner->table.find(owner->inputs.back()));
  }
  return work_of(owner, owner->table.table(), fmt::format("{} flows", flows));
}

struct Names : Columns<ndn_names_key, std::uint32_t> {
  explicit Names(std::uint64_t key) : table({key, ~key}, no_readers) {}
  ndn::NameTable table;
};

std::string name_of(std::uint32_t i, std::uint64_t seed) {
  std::string name;
  for (const std::string& component : name_components(i, seed)) append_component(name, component);
  return name;
}
ndn::Bytes bytes_of(const std::string& name) {
  return {reinterpret_cast<const std::uint8_t*>(name.data()), name.size()};
}

/// Sets look-ups of names with two components more than those in the table, and their right next hops.
void look_up_names(Names& names, std::uint32_t count, std::uint64_t seed) {
  Random random(seed);
  names.inputs.resize(inputs_for(count == kNames.back()));
  names.right.resize(names.inputs.size());
  std::vector<std::string> asked;
  std::vector<std::uint32_t> numbers;
  for (ndn_names_key& key : names.inputs) {
    numbers.push_back(random.below(count));
    std::string& name = asked.emplace_back(name_of(numbers.back(), seed));
    append_component(name, fmt::format("{:x}", random.next() >> 32));
    append_component(name, fmt::format("seg{}", random.below(100)));
    names.table.fill(bytes_of(name), key);
  }
  OnEngine scalar("scalar", names.table.table());
  scalar.run(names.inputs.data(), names.right.data(), names.inputs.size());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (names.table.next_hop(names.right[i], bytes_of(asked[i])) != numbers[i] % 1000) {
      throw WrongAnswer(fmt::format("name {} does not lead to its next hop", i));
    }
  }
}

ChoiceWork names_work(std::uint64_t seed, std::uint32_t names) {
  auto owner = std::make_shared<Names>(seed);
  owner->table.reserve(names);
  for (std::uint32_t i = 0; i < names; ++i) {
    owner->table.insert(bytes_of(name_of(i, seed)), static_cast<std::uint16_t>(i % 1000));
  }
  owner->table.commit();
  look_up_names(*owner, names, seed);
  return work_of(owner, owner->table.table(), fmt::format("{} names", names));
}

struct RuleWork {
  NoReaders no_readers;
  RuleTask task;
  std::unique_ptr<RuleTable> table;
  std::unique_ptr<RuleKeys> keys;
};

ChoiceWork rules_work(std::uint64_t seed, const std::string& structure, RuleFields fields, std::uint32_t rules) {
  auto owner = std::make_shared<RuleWork>();
  const std::uint32_t classes = std::min(kMostClasses, rules / 4);
  owner->task = make_rule_task(
      structure, {.fields = fields, .rules = rules, .classes = classes, .full_classes = classes, .seed = seed},
      kRuleHeaders);
  owner->table = make_rule_table(structure, fields, seed, owner->no_readers);
  fill(*owner->table, owner->task);
  owner->keys = std::make_unique<RuleKeys>(fields, owner->task.headers);
  OnEngine scalar("scalar", owner->table->table());
  const RuleKeys& keys = *owner->keys;
  const RuleClassifier classifier{"scalar", [&](std::size_t at, std::size_t count, std::uint32_t* places) {
                                    scalar.run(keys.column(at), places, count);
                                  }};
  const std::array<std::size_t, 1> batches{kManyInputs};
  check_classifiers(owner->task, {&classifier, 1}, batches, kRuleHeaders);
  ChoiceWork work;
  work.size = fmt::format("{} rules", rules);
  work.table = &owner->table->table();
  work.inputs = static_cast<const std::byte*>(keys.column(0));
  work.input_bytes = static_cast<std::size_t>(static_cast<const std::byte*>(keys.column(1)) - work.inputs);
  work.answer_bytes = sizeof(std::uint32_t);
  work.right.resize(kRuleHeaders * work.answer_bytes);
  scalar.run(work.inputs, work.right.data(), kRuleHeaders);
  work.owner = std::move(owner);
  return work;
}

}  // namespace

std::vector<std::function<ChoiceWork()>> choice_works(const Options& options) {
  std::vector<std::function<ChoiceWork()>> works;
  const std::uint64_t seed = options.seed;
  works.emplace_back([seed] { return echo_work(seed); });
  for (const std::uint32_t each : kDestinations) {
    for (const bool runs : {false, true}) {
      works.emplace_back([&options, runs, each] { return ipv4_work(options, runs, each); });
    }
    // A route file in the options has IPv4 routes.
    Options of_ipv6 = options;
    of_ipv6.routes.reset();
    works.emplace_back([of_ipv6, each] { return ipv6_work<Ipv6Trie>(of_ipv6, each); });
    works.emplace_back([of_ipv6, each] { return ipv6_work<Ipv6Lengths>(of_ipv6, each); });
    works.emplace_back([of_ipv6, each] { return ipv6_work<Ipv6Runs>(of_ipv6, each); });
  }
  for (const std::uint32_t each : kStations) works.emplace_back([=] { return stations_work(seed, each); });
  for (const std::uint32_t each : kFlows) works.emplace_back([=] { return flows_work(seed, each); });
  for (const std::uint32_t each : kNames) works.emplace_back([=] { return names_work(seed, each); });
  for (const RuleStructure& structure : rule_structures()) {
    for (const RuleFields fields : {RuleFields::ipv4, RuleFields::openflow}) {
      for (const std::uint32_t rules : kRules) {
        if (structure.name == "linear" && rules > kMostLinearRules) continue;
        works.emplace_back([=, name = structure.name] { return rules_work(seed, name, fields, rules); });
      }
    }
  }
  return works;
}

}  // namespace penumbra::bench
