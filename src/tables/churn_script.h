// SPDX-License-Identifier: Apache-2.0
//
// Scripts of changes to a table of prefixes while readers look up addresses (churn_readers.h), for tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"
#include "churn_readers.h"

namespace penumbra::churn {

/// A script of changes to a table that is empty at first, with the right answers of a set of addresses after each
/// change. A longest-prefix oracle computes the answers. An Entry has a prefix and a next hop below kNextHops.
template <class Entry, class Oracle>
class Script {
 public:
  using Prefix = decltype(Entry::prefix);
  using Address = decltype(Prefix::address);
  static constexpr std::uint32_t kNextHops = 32'768;

  /// Each round begins with a load of about half of `pool`. Single prefixes of `pool` are then inserted, replaced and
  /// removed. `addresses` are the addresses of lookups. `none` is the answer of an empty table.
  Script(std::vector<Prefix> pool, std::vector<Address> addresses, std::uint16_t none, std::size_t rounds,
         std::size_t changes_per_round)
      : pool_(sorted(std::move(pool))),
        addresses_(sorted(std::move(addresses))),
        answers_(addresses_.size(), Answers{{0, none}}) {
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
      oracle_.insert(prefix, change.entries.back().next_hop);
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
      oracle_.insert(prefix, change.entry.next_hop);
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
      const std::uint16_t answer = oracle_.lookup(addresses_[i]);
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

}  // namespace penumbra::churn
