// SPDX-License-Identifier: Apache-2.0
//
// Lookups while an IPv6 table changes. Compiled into each table's test program.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "engines/conformance.h"
#include "shaders/churn_readers.h"
#include "shaders/ipv6/ipv6_lookup.h"
#include "shaders/ipv6/ipv6_oracle.h"

namespace penumbra {
namespace {

using ipv6_oracle::make_table;
using ipv6_oracle::Oracle;

constexpr std::size_t kRounds = kSanitizerScale == 1 ? 10 : 3;
constexpr std::size_t kChangesPerRound = 60'000 / kSanitizerScale / kRounds;
constexpr std::size_t kPrefixes = 6'000;
constexpr std::size_t kAddresses = 2'000;

struct Change {
  enum class Kind : std::uint8_t { insert, remove, load };
  Kind kind = Kind::insert;
  Ipv6Entry entry;                 ///< of insert and remove
  std::vector<Ipv6Entry> entries;  ///< of load
};

/// The script of a test: changes, addresses, and the right answers.
class Script {
 public:
  Script() {
    make_pool();
    for (std::size_t round = 0; round < kRounds; ++round) {
      add_load();
      for (std::size_t i = 1; i < kChangesPerRound; ++i) add_change();
    }
  }

  std::vector<Change> changes;
  std::vector<Ipv6Address> addresses;   ///< sorted
  std::vector<churn::Answers> answers;  ///< of each address

 private:
  /// Prefixes that come and go. Half of them meet in deep nests, the others are as in tables of the Internet.
  void make_pool() {
    pool_ = ipv6_oracle::nested_prefixes(kPrefixes / 2, random_);
    // What covers a large part of a table's root takes milliseconds to change.
    std::erase_if(pool_, [](Ipv6Prefix prefix) { return prefix.length > 0 && prefix.length < 12; });
    for (std::size_t i = 0; i < kPrefixes / 2; ++i) {
      const Ipv6Address bits{std::uint64_t{0x2A0C} << 48 | random_.next() >> 22 << 10, 0};
      pool_.push_back(ipv6_prefix_of(bits, 26 + random_.below(39)));
    }
    std::sort(pool_.begin(), pool_.end());
    pool_.erase(std::unique(pool_.begin(), pool_.end()), pool_.end());
    while (addresses.size() < kAddresses) ipv6_oracle::add_probes(any_prefix(), random_, addresses);
    std::sort(addresses.begin(), addresses.end());
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    answers.assign(addresses.size(), churn::Answers{{0, Ipv6Lookup::kNoRoute}});
  }

  void add_load() {
    Change change{Change::Kind::load, {}, {}};
    oracle_.clear();
    for (const Ipv6Prefix prefix : pool_) {
      if (random_.below(2) == 0) continue;
      change.entries.push_back({prefix, any_next_hop()});
      oracle_.insert(prefix, change.entries.back().next_hop);
    }
    changes.push_back(std::move(change));
    note_answers({});
  }

  void add_change() {
    Change change{Change::Kind::insert, {any_prefix(), any_next_hop()}, {}};
    if (change.entry.prefix.length == 0 && random_.below(16) != 0) change.entry.prefix = pool_.back();
    if (oracle_.find(change.entry.prefix) && random_.below(4) != 0) {
      change.kind = Change::Kind::remove;
      oracle_.remove(change.entry.prefix);
    } else {
      oracle_.insert(change.entry.prefix, change.entry.next_hop);
    }
    const Ipv6Prefix prefix = change.entry.prefix;
    changes.push_back(std::move(change));
    note_answers(prefix);
  }

  /// Notes what is right for the addresses under `prefix` after the last change.
  void note_answers(Ipv6Prefix prefix) {
    const auto begin = std::lower_bound(addresses.begin(), addresses.end(), prefix.address);
    const auto end = std::upper_bound(begin, addresses.end(), last_of(prefix));
    for (auto i = static_cast<std::size_t>(begin - addresses.begin());
         i < static_cast<std::size_t>(end - addresses.begin()); ++i) {
      const std::uint16_t answer = oracle_.lookup(addresses[i]);
      if (answer != answers[i].back().second) answers[i].emplace_back(changes.size(), answer);
    }
  }

  Ipv6Prefix any_prefix() { return pool_[random_.below(static_cast<std::uint32_t>(pool_.size()))]; }
  std::uint16_t any_next_hop() { return static_cast<std::uint16_t>(random_.below(Ipv6Lookup::kMaxNextHops)); }

  Random random_{5};
  std::vector<Ipv6Prefix> pool_;
  Oracle oracle_;
};

void apply(Ipv6Lookup& table, const Change& change) {
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

class Ipv6Churn : public testing::TestWithParam<std::string> {};

TEST_P(Ipv6Churn, NeverShowsReadersAnAnswerThatWasNotRight) {
  const Script script;
  QuiescentStates states(churn::kReaders);
  const std::unique_ptr<Ipv6Lookup> table = make_table(states);
  conformance::ShaderRun run(GetParam(), table->shader_name(), table->table());
  const auto apply_one = [&](std::size_t i) { apply(*table, script.changes[i]); };
  EXPECT_EQ(churn::wrong_answers(run, ipv6_oracle::columns(script.addresses), script.answers, states,
                                 script.changes.size(), kChangesPerRound, apply_one),
            0U);
}

PENUMBRA_FOR_EACH_ENGINE(Ipv6Churn);

}  // namespace
}  // namespace penumbra
