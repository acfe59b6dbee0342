// SPDX-License-Identifier: Apache-2.0
//
// Exact-match work: random searches for keys that are all in the table.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/random.h"
#include "bench.h"
#include "gpu/lookup_work.h"
#include "tables/flows/flow_table.h"
#include "tables/l2/stations.h"

namespace penumbra::bench::gpu {

constexpr std::size_t kExactSearches = std::size_t{1} << 22;

/// `Owner` owns the table.
template <class Key, class Answer, class Owner>
class ExactWork : public LookupWorkOf<Key, Answer> {
 public:
  Table& penumbra_table() override { return owner_.table(); }

 protected:
  /// `arguments` are those of the owner's constructor without the grace periods.
  template <class... Arguments>
  explicit ExactWork(Arguments... arguments)
      : LookupWorkOf<Key, Answer>(kExactSearches), owner_(arguments..., no_readers_) {}
  Owner& owner() { return owner_; }
  /// Draws keys with numbers below `count`, and sets the answers that the table has for them.
  template <class KeyOf, class AnswerOf>
  void draw(std::size_t count, std::uint64_t seed, const KeyOf& key_of, const AnswerOf& answer_of) {
    Random random(seed);
    for (std::size_t i = 0; i < kExactSearches; ++i) {
      const std::uint32_t number = random.below(static_cast<std::uint32_t>(count));
      this->own_keys()[i] = key_of(number);
      this->right[i] = answer_of(number);
    }
  }

 private:
  NoReaders no_readers_;
  Owner owner_;
};

/// Searches in a table of `flows` flows; every fourth flow is IPv6.
class FlowsWork final : public ExactWork<flow_key, std::uint32_t, FlowTable> {
 public:
  FlowsWork(std::size_t flows, std::uint64_t seed);
};

/// Searches in a switch's table of `stations` stations.
class StationsWork final : public ExactWork<std::uint64_t, std::uint16_t, StationTable> {
 public:
  StationsWork(std::size_t stations, std::uint64_t seed);
};

}  // namespace penumbra::bench::gpu
