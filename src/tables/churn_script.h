// SPDX-License-Identifier: Apache-2.0
//
// Scripts of changes to a table of prefixes while readers look up addresses (churn_readers.h), for tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/prefix_oracle.h"
#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "churn_readers.h"
#include "tables/prefix_testing.h"

namespace penumbra::churn {

/// A script of changes to a table that is empty at first, with the right answers of a set of addresses after each
/// change. An Entry has a prefix and a next hop below kNextHops.
template <class Family, class Entry>
class Script {
 public:
  using Prefix = typename Family::Prefix;
  using Address = typename Family::Address;
  static constexpr std::uint32_t kNextHops = 32'768;

  /// Each round begins with a load of about half of `pool`. Single prefixes of `pool` are then inserted, replaced and
  /// removed. `addresses` are the addresses of lookups.
  Script(std::vector<Prefix> pool, std::vector<Address> addresses, std::size_t rounds, std::size_t changes_per_round)
      : pool_(sorted(std::move(pool))),
        addresses_(sorted(std::move(addresses))),
        answers_(addresses_.size(), Answers{{0, Oracle::kNoRoute}}) {
    for (std::size_t round = 0; round < rounds; ++round) {
      add_load();
      for (std::size_t i = 1; i < changes_per_round; ++i) add_change();
    }
  }

  std::size_t size() const { return changes_.size(); }
  const std::vector<Address>& addresses() const { return addresses_; }
  const std::vector<Answers>& answers() const { return answers_; }  ///< by address

  template <class Lpm>
  void apply(std::size_t number, Lpm& table) const {
    const Change& change = changes_[number];
    switch (change.kind) {
      case Change::Kind::insert:
        table.insert(change.entry.prefix, change.entry.next_hop);
        break;
      case Change::Kind::remove:
        table.remove(change.entry.prefix);
        break;
      case Change::Kind::load:
        table.load(change.entries);
        break;
    }
    table.commit();
  }

 private:
  using Oracle = PrefixOracle<Family, Entry>;
  struct Change {
    enum class Kind : std::uint8_t { insert, remove, load };
    Kind kind = Kind::insert;
    Entry entry;                 ///< of insert and remove
    std::vector<Entry> entries;  ///< of load
  };

  template <class Value>
  static std::vector<Value> sorted(std::vector<Value> values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  }

  void add_load() {
    Change change{Change::Kind::load, {}, {}};
    oracle_.clear();
    for (const Prefix prefix : pool_) {
      if (random_.below(2) == 0) continue;
      change.entries.push_back({prefix, any_next_hop()});
      oracle_.insert(change.entries.back());
    }
    changes_.push_back(std::move(change));
    note_answers({});
  }

  void add_change() {
    const Prefix prefix = pool_[random_.below(static_cast<std::uint32_t>(pool_.size()))];
    Change change{Change::Kind::insert, {prefix, any_next_hop()}, {}};
    if (oracle_.find(prefix) && random_.below(4) != 0) {
      change.kind = Change::Kind::remove;
      oracle_.remove(prefix);
    } else {
      oracle_.insert(change.entry);
    }
    changes_.push_back(std::move(change));
    note_answers(prefix);
  }

  /// Notes the right answers of the addresses under `prefix` after the last change.
  void note_answers(Prefix prefix) {
    const auto begin = std::lower_bound(addresses_.begin(), addresses_.end(), prefix.address);
    const auto end = std::upper_bound(begin, addresses_.end(), prefix.last());
    for (auto i = static_cast<std::size_t>(begin - addresses_.begin());
         i < static_cast<std::size_t>(end - addresses_.begin()); ++i) {
      const std::uint16_t answer = oracle_.next_hop(addresses_[i]);
      if (answer != answers_[i].back().second) answers_[i].emplace_back(changes_.size(), answer);
    }
  }

  std::uint16_t any_next_hop() { return static_cast<std::uint16_t>(random_.below(kNextHops)); }

  Random random_{5};
  std::vector<Prefix> pool_;
  std::vector<Address> addresses_;
  Oracle oracle_;
  std::vector<Change> changes_;
  std::vector<Answers> answers_;
};

/// Expects that readers never see a wrong answer while a script over `pool` changes `table`. `engine` runs the shader
/// of `looked_up`, a table that follows `table`. `states` are the grace periods of `table`.
template <class Family, class Lpm>
void expect_right_answers(const std::string& engine, std::vector<typename Family::Prefix> pool, std::size_t changes,
                          Lpm& table, Table& looked_up, QuiescentStates& states) {
  constexpr std::size_t kRounds = kSanitizerScale == 1 ? 10 : 3;
  const std::size_t changes_per_round = changes / kSanitizerScale / kRounds;
  Random random(6);
  std::vector<typename Family::Address> addresses;
  for (int i = 0; i < 400; ++i) {
    prefix_testing::add_probes(pool[random.below(static_cast<std::uint32_t>(pool.size()))], random, addresses);
  }
  const Script<Family, typename Lpm::Entry> script(std::move(pool), std::move(addresses), kRounds, changes_per_round);
  conformance::ShaderRun run(engine, looked_up.name(), looked_up);
  const auto apply = [&](std::size_t number) { script.apply(number, table); };
  EXPECT_EQ(wrong_answers(run, prefix_testing::columns(script.addresses()), script.answers(), states, script.size(),
                          changes_per_round, apply),
            0U);
}

}  // namespace penumbra::churn
