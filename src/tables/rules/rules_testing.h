// SPDX-License-Identifier: Apache-2.0
//
// Helpers for the tests of all rule structures: rules and keys of every kind, and lookups on an engine.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "engines/conformance.h"
#include "penumbra/rule.h"
#include "tables/rules/rule_lookup.h"
#include "tables/rules/rule_set.h"
#include "tables/rules/rule_structures.h"
#include "tables/rules/rule_table.h"
#include "tables/rules/rules.shader.h"

namespace penumbra::rules_testing {

/// Returns the name of the structure under test. Each test program defines it.
const char* structure();

inline constexpr std::uint64_t kSeed = 7;

inline std::unique_ptr<RuleTable> make_table(RuleFields fields, GracePeriods& grace_periods) {
  return make_rule_table(structure(), fields, kSeed, grace_periods);
}

/// Parameters of random rules.
struct Knobs {
  RuleFields fields = RuleFields::ipv4;
  std::size_t masks = 1;         ///< maximum number of different masks
  std::uint32_t values = 4;      ///< number of values of each word; fewer values make more rules overlap
  std::uint32_t priorities = 3;  ///< number of priorities; fewer make more rules equal
  std::uint32_t ranged = 4;      ///< one rule in so many has port ranges
  bool any_bits = false;         ///< masks of any bits, not only prefixes of fields
};

/// A source of rules, and of keys that match some of the rules.
class Rules {
 public:
  Rules(const Knobs& knobs, std::uint64_t seed) : knobs_(knobs), random_(seed) {
    for (std::size_t i = 0; i < knobs.masks; ++i) masks_.push_back(any_mask());
    for (std::uint32_t i = 0; i < knobs.values; ++i) {
      RuleWords& value = values_.emplace_back();
      for (std::size_t word = 0; word < words_of(knobs.fields); ++word) value[word] = random_.next();
    }
  }

  Rule rule() {
    Rule rule;
    rule.match.mask = masks_[random_.below(static_cast<std::uint32_t>(masks_.size()))];
    rule.match.value = mixed_value();
    if (random_.below(knobs_.ranged) == 0) rule.match.source_ports = any_ports();
    if (random_.below(knobs_.ranged) == 0) rule.match.destination_ports = any_ports();
    rule.match = normalised(rule.match, knobs_.fields);
    rule.priority = static_cast<std::uint16_t>(0xFFFF - random_.below(knobs_.priorities));
    return rule;
  }
  /// Returns a key that many rules may match.
  RuleWords key() {
    RuleWords key = mixed_value();
    if (random_.below(4) == 0) key[random_.below(static_cast<std::uint32_t>(words()))] ^= 1ULL << random_.below(64);
    return key;
  }
  /// Returns a key that the rule matches, or nearly: a port may be just outside its range.
  RuleWords key_of(const RuleMatch& match) {
    RuleWords key = mixed_value();
    for (std::size_t word = 0; word < words(); ++word) {
      key[word] = (key[word] & ~match.mask[word]) | match.value[word];
    }
    if (!match.source_ports.is_all()) set_port(key, kSourcePortShift, near(match.source_ports));
    if (!match.destination_ports.is_all()) set_port(key, kDestinationPortShift, near(match.destination_ports));
    return key;
  }
  Random& random() { return random_; }

 private:
  std::size_t words() const { return words_of(knobs_.fields); }

  static std::uint64_t prefix(unsigned bits, unsigned length) {
    const std::uint64_t all = bits == 64 ? ~0ULL : (1ULL << bits) - 1;
    return length == 0 ? 0 : all & ~((1ULL << (bits - length)) - 1);
  }
  /// Returns the mask of a field: empty, full or a prefix.
  std::uint64_t field(unsigned bits) {
    const std::uint32_t kind = random_.below(3);
    return kind == 0 ? 0 : prefix(bits, kind == 1 ? bits : 1 + random_.below(bits));
  }
  RuleWords any_mask() {
    RuleWords mask{};
    for (std::size_t word = 0; word < words(); ++word) {
      mask[word] = knobs_.any_bits ? random_.next() & random_.next() : field(32) << 32 | field(32);
    }
    // A bit that is 0 in all keys is in no mask.
    mask[words() - 1] &= ~0xFFFFULL;
    return mask;
  }
  RuleWords mixed_value() {
    RuleWords value{};
    for (std::size_t word = 0; word < words(); ++word) {
      const std::uint64_t upper = random_.below(2) == 0 ? ~0ULL << 32 : 0;
      value[word] = (values_[random_.below(knobs_.values)][word] & upper) |
                    (values_[random_.below(knobs_.values)][word] & ~upper);
    }
    value[words() - 1] &= ~0xFFFFULL;
    return value;
  }
  PortRange any_ports() {
    const auto one = static_cast<std::uint16_t>(random_.next() >> random_.below(16));
    const auto other = static_cast<std::uint16_t>(random_.next() >> random_.below(16));
    return {std::min(one, other), std::max(one, other)};
  }
  std::uint16_t near(PortRange range) {
    switch (random_.below(5)) {
      case 0:
        return static_cast<std::uint16_t>(range.first - 1);
      case 1:
        return range.first;
      case 2:
        return range.last;
      case 3:
        return static_cast<std::uint16_t>(range.last + 1);
      default:
        return static_cast<std::uint16_t>(range.first + random_.below(range.last - range.first + 1U));
    }
  }
  void set_port(RuleWords& key, unsigned shift, std::uint16_t port) {
    std::uint64_t& last = key[words() - 1];
    last = (last & ~(0xFFFFULL << shift)) | std::uint64_t{port} << shift;
  }

  const Knobs knobs_;
  Random random_;
  std::vector<RuleWords> masks_, values_;
};

/// Returns the answers of a table on an engine.
inline std::vector<std::uint32_t> answers_of(conformance::ShaderRun& run, RuleFields fields,
                                             const std::vector<RuleWords>& keys, std::uint32_t batch) {
  const RuleKeys columns(fields, keys);
  std::vector<std::uint32_t> found(keys.size(), 0x12345678);
  run({columns.column(0)}, {found.data()}, keys.size(), batch);
  return found;
}

/// Expects that a table returns the answers of a linear search through the set, in batches of every size.
inline void expect_right(conformance::ShaderRun& run, const RuleSet& rules, const std::vector<RuleWords>& keys) {
  std::vector<std::uint32_t> right(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) right[i] = rules.best(keys[i]);
  for (const std::uint32_t batch : conformance::kBatchSizes) {
    const auto found = answers_of(run, rules.fields(), keys, batch);
    for (std::size_t i = 0; i < keys.size(); ++i)
      ASSERT_EQ(found[i], right[i]) << "key " << i << ", batches of " << batch;
  }
}

}  // namespace penumbra::rules_testing
