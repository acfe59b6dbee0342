// SPDX-License-Identifier: Apache-2.0
//
// Shared parts of the exact-match benchmarks: Penumbra's hash table on every engine, and DPDK's rte_hash. Contenders
// are checked and then measured.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench.h"
#include "lookup_contender.h"
#include "on_engine.h"
#include "penumbra/huge_memory.h"
#include "pin.h"
#include "rivals/rte_hash.h"

namespace penumbra::bench {

inline constexpr std::array<std::size_t, 2> kSearchBatches{64, 4096};
inline constexpr char kHashRival[] = "rte_hash bulk, hashes precomputed";

/// Keys to search, and the right values. Keys are in huge pages, like all that contenders read.
template <class Key, class Value>
struct SearchesOf {
  explicit SearchesOf(std::size_t count) : keys(count), right(count) {}

  HugeArray<Key> keys;
  std::vector<Value> right;
};

/// A filled table. search() searches all keys and passes the values of each batch to `use(offset, count, values)`.
template <class Key, class Value>
class SearcherOf {
 public:
  SearcherOf() = default;
  SearcherOf(const SearcherOf&) = delete;
  SearcherOf& operator=(const SearcherOf&) = delete;
  virtual ~SearcherOf() = default;

  using Use = std::function<void(std::size_t at, std::size_t count, const Value* values)>;
  virtual const std::string& name() const = 0;
  virtual void search(const SearchesOf<Key, Value>& searches, std::size_t batch, const Use& use) = 0;
};

template <class Key, class Value>
using SearchersOf = std::vector<std::unique_ptr<SearcherOf<Key, Value>>>;

template <class Key, class Value>
class EngineSearcher final : public SearcherOf<Key, Value> {
 public:
  EngineSearcher(const std::string& engine, Table& table) : on_(engine, table) {}
  bool has_shader() const { return on_.has_shader(); }
  const std::string& name() const override { return on_.name(); }
  void search(const SearchesOf<Key, Value>& searches, std::size_t batch,
              const typename SearcherOf<Key, Value>::Use& use) override {
    std::array<Value, LookupContender::kMostBatch> values;
    for_each_batch(searches.keys.size(), batch, [&](std::size_t at, std::size_t count) {
      on_.run(searches.keys.data() + at, values.data(), count);
      use(at, count, values.data());
    });
  }

 private:
  OnEngine on_;
};

/// DPDK's rte_hash, whose keys may be longer than Penumbra's: a `RivalKey` is a key followed by zeros.
template <class Key, class Value, class RivalKey>
class RivalSearcher final : public SearcherOf<Key, Value> {
 public:
  /// Makes an empty table for `keys` keys, and prepares the searches.
  RivalSearcher(HugeHeap& heap, std::size_t keys, const SearchesOf<Key, Value>& searches)
      : table_(heap, keys, sizeof(RivalKey)),
        keys_(searches.keys.size()),
        hashes_(searches.keys.size()),
        pointers_(searches.keys.size()) {
    for (std::size_t i = 0; i < searches.keys.size(); ++i) {
      keys_[i] = rival_key(searches.keys[i]);
      hashes_[i] = table_.hash(&keys_[i]);
      pointers_[i] = &keys_[i];
    }
  }
  void insert(const Key& key, Value value) {
    const RivalKey own = rival_key(key);
    table_.insert(&own, value);
  }
  const std::string& name() const override { return name_; }
  void search(const SearchesOf<Key, Value>& searches, std::size_t batch,
              const typename SearcherOf<Key, Value>::Use& use) override {
    std::array<std::uint64_t, LookupContender::kMostBatch> found;
    std::array<Value, LookupContender::kMostBatch> values;
    for_each_batch(searches.keys.size(), batch, [&](std::size_t at, std::size_t count) {
      for_each_batch(count, RteHash::kMostAtOnce, [&](std::size_t part, std::size_t some) {
        table_.find(pointers_.data() + at + part, hashes_.data() + at + part, some, found.data() + part);
      });
      for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<Value>(found[i]);
      use(at, count, values.data());
    });
  }

 private:
  static RivalKey rival_key(const Key& key) {
    static_assert(sizeof(RivalKey) >= sizeof(Key));
    RivalKey longer{};
    std::memcpy(&longer, &key, sizeof key);
    return longer;
  }

  const std::string name_{kHashRival};
  RteHash table_;
  HugeArray<RivalKey> keys_;
  HugeArray<std::uint32_t> hashes_;
  HugeArray<const void*> pointers_;
};

/// Adds a searcher for the table on every available engine that has its shader.
template <class Key, class Value>
void add_engines(Table& table, SearchersOf<Key, Value>& searchers) {
  for (const EngineInfo* info : engines_here()) {
    auto searcher = std::make_unique<EngineSearcher<Key, Value>>(info->name, table);
    if (searcher->has_shader()) searchers.push_back(std::move(searcher));
  }
}

/// Throws WrongAnswer unless every value is right, in every batch size.
template <class Key, class Value>
void check_searchers(const SearchersOf<Key, Value>& searchers, const SearchesOf<Key, Value>& searches) {
  for (const auto& searcher : searchers) {
    for (const std::size_t batch : kSearchBatches) {
      searcher->search(searches, batch, [&](std::size_t at, std::size_t count, const Value* values) {
        for (std::size_t i = 0; i < count; ++i) {
          if (values[i] == searches.right[at + i]) continue;
          throw WrongAnswer(fmt::format("{}: search {} gives {}, right is {}", searcher->name(), at + i, values[i],
                                        searches.right[at + i]));
        }
      });
    }
  }
}

/// Returns millions of searches per second, by round; `use` receives the values.
template <class Key, class Value>
std::vector<Series> measure_searchers(const SearchersOf<Key, Value>& searchers, const SearchesOf<Key, Value>& searches,
                                      std::size_t batch, const typename SearcherOf<Key, Value>::Use& use,
                                      unsigned rounds) {
  std::vector<Contender> turns;
  turns.reserve(searchers.size());
  for (const auto& searcher : searchers) {
    turns.push_back({searcher->name(),
                     [&, of = searcher.get()] {
                       // Warms the caches, which hold the table of the contender before.
                       of->search(searches, batch, use);
                       const double begin = thread_time();
                       of->search(searches, batch, use);
                       return static_cast<double>(searches.keys.size()) / (thread_time() - begin) * 1e-6;
                     },
                     role_of(searcher->name())});
  }
  return interleave(turns, rounds);
}

/// Returns a contender's ratio among those of Report::compare(); none if there is no such contender.
inline std::optional<double> ratio_of(std::span<const Series> series, std::span<const double> ratios,
                                      const std::string& name) {
  const auto found = std::ranges::find(series, name, &Series::name);
  if (found == series.end()) return std::nullopt;
  return ratios[static_cast<std::size_t>(found - series.begin())];
}

/// Compares all searchers in every batch size, in a table of `count` `things`. With `has_bar`, gopt must be twice as
/// fast as rte_hash.
template <class Key, class Value>
void compare_searchers(const SearchersOf<Key, Value>& searchers, const SearchesOf<Key, Value>& searches,
                       const std::string& title, const std::string& things, std::size_t count, bool has_bar,
                       unsigned rounds, Report& report) {
  check_searchers(searchers, searches);
  report.checked(fmt::format("{}: every value of {} contenders is the right one", title, searchers.size()));
  for (const std::size_t batch : kSearchBatches) {
    const auto series = measure_searchers<Key, Value>(
        searchers, searches, batch, [](std::size_t, std::size_t, const Value* values) { keep(values); }, rounds);
    const std::string what = fmt::format("{}, batches of {}", title, batch);
    const Plot plot{"E22", fmt::format("{} looked up, batches of {}", things, batch), things};
    const bool has_rival = std::ranges::find(series, kHashRival, &Series::name) != series.end();
    const auto ratios = report.compare(what, "M lookups/s/core", series, has_rival ? kHashRival : kScalarWay,
                                       Place{plot, static_cast<double>(count)});
    const auto gopt = ratio_of(series, ratios, kGoptWay);
    if (has_bar && gopt) report.bar("gopt / rte_hash bulk, " + what, *gopt, 2.0, true);
  }
}

}  // namespace penumbra::bench
