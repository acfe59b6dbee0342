// SPDX-License-Identifier: Apache-2.0
#include "tables/rules/rule_choice.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <stdexcept>

#include "base/random.h"
#include "penumbra/engine.h"
#include "tables/rules/rule_lookup.h"
#include "tables/rules/rule_set.h"
#include "tables/rules/rule_structures.h"

namespace penumbra {
namespace {

constexpr std::size_t kSampled = 2048, kMostForLinear = 4096;
constexpr std::uint32_t kChunk = 64;
constexpr int kRounds = 5;
constexpr auto kLongestRound = std::chrono::milliseconds(20);

std::uint16_t port_in(PortRange ports, Random& random) {
  return static_cast<std::uint16_t>(ports.first + random.below(ports.last - ports.first + 1U));
}

/// Returns a random header that the rule matches.
RuleWords key_in(const RuleMatch& match, RuleFields fields, Random& random) {
  RuleWords key{};
  for (std::size_t word = 0; word < words_of(fields); ++word) {
    key[word] = (random.next() & ~match.mask[word]) | match.value[word];
  }
  std::uint64_t& last = key[words_of(fields) - 1];
  const auto set_port = [&](PortRange ports, unsigned shift) {
    if (ports.is_all()) return;
    last = (last & ~(std::uint64_t{0xFFFF} << shift)) | std::uint64_t{port_in(ports, random)} << shift;
  };
  set_port(match.source_ports, kSourcePortShift);
  set_port(match.destination_ports, kDestinationPortShift);
  return key;
}

/// Returns the best time of a few rounds over the keys. A round ends early after kLongestRound.
double ns_per_key(RuleLookup& lookup, const RuleKeys& keys) {
  using Clock = std::chrono::steady_clock;
  std::array<std::uint32_t, kChunk> numbers;
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = Clock::now();
    std::size_t done = 0;
    while (done < keys.size() && Clock::now() - begin < kLongestRound) {
      const std::size_t count = std::min<std::size_t>(kChunk, keys.size() - done);
      lookup.find(keys, done, std::span(numbers).first(count));
      done += count;
    }
    const std::chrono::duration<double, std::nano> taken = Clock::now() - begin;
    best = std::min(best, taken.count() / static_cast<double>(done));
  }
  return best;
}

}  // namespace

std::vector<RuleStructureCost> measure_rule_structures(RuleFields fields, std::span<const Rule> rules,
                                                       std::uint64_t seed) {
  Random random(seed);
  std::vector<RuleWords> headers;
  for (std::size_t i = 0; i < kSampled && !rules.empty(); ++i) {
    const Rule& rule = rules[random.below(static_cast<std::uint32_t>(rules.size()))];
    headers.push_back(key_in(rule.match, fields, random));
  }
  const RuleKeys keys(fields, headers);
  std::vector<RuleStructureCost> costs;
  for (const RuleStructure& structure : rule_structures()) {
    if (structure.name == "linear" && rules.size() > kMostForLinear) continue;
    NoReaders no_readers;
    const auto table = structure.create(fields, seed, no_readers);
    try {
      RuleSet set(fields, no_readers);
      set.feed(*table);
      for (const Rule& rule : rules) set.add(rule);
      set.commit();
    } catch (const std::length_error&) {
      continue;
    }
    const auto engine = create_engine(engine_at_once(table->shader()));
    RuleLookup lookup(*table, *engine);
    costs.push_back({structure.name, keys.size() == 0 ? 0 : ns_per_key(lookup, keys), table->memory_bytes()});
  }
  if (costs.empty()) throw std::length_error("no structure has place for so many rules");
  std::ranges::stable_sort(costs, {}, &RuleStructureCost::ns_per_key);
  return costs;
}

}  // namespace penumbra
