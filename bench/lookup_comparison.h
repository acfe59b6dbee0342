// SPDX-License-Identifier: Apache-2.0
//
// Shared parts of the lookup benchmarks: Penumbra's tables on every engine, with rivals. Contenders are checked and
// then measured.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench.h"
#include "inputs.h"
#include "lookup_contender.h"
#include "on_engine.h"
#include "penumbra/table.h"

namespace penumbra::bench {

inline constexpr std::array<std::size_t, 2> kBatches{64, 4096};

/// Looks up in Penumbra's table through an engine.
template <class Address>
class EngineLookup final : public LookupContenderOf<Address> {
 public:
  EngineLookup(const std::string& engine, Table& table) : on_(engine, table), name_(on_.name() + ", " + table.name()) {}

  bool has_shader() const { return on_.has_shader(); }
  const std::string& name() const override { return name_; }
  void pass(std::span<const Address> addresses, std::size_t batch) override {
    std::array<std::uint16_t, LookupContenderOf<Address>::kMostBatch> found;
    for_each_batch(addresses.size(), batch, [&](std::size_t at, std::size_t count) {
      on_.run(&addresses[at], found.data(), count);
      keep(found.data());
    });
  }
  void answers(std::span<const Address> addresses, std::size_t batch, std::uint16_t* next_hops) override {
    for_each_batch(addresses.size(), batch,
                   [&](std::size_t at, std::size_t count) { on_.run(&addresses[at], next_hops + at, count); });
  }

 private:
  OnEngine on_;
  std::string name_;
};

/// Adds a contender for the table on every available engine that has its shader.
template <class Address>
void add_engines(Table& table, std::vector<std::unique_ptr<LookupContenderOf<Address>>>& contenders) {
  for (const EngineInfo* info : engines_here()) {
    auto lookup = std::make_unique<EngineLookup<Address>>(info->name, table);
    if (lookup->has_shader()) contenders.push_back(std::move(lookup));
  }
}

inline double millions_a_second(std::size_t lookups, double seconds) {
  return static_cast<double>(lookups) / seconds * 1e-6;
}

/// Throws WrongAnswer unless every contender gives the oracle's answer for every address, in every batch size.
template <class Family>
void check(std::span<const std::unique_ptr<LookupContenderOf<ColumnOf<Family>>>> contenders,
           const InputAddressesOf<Family>& input, const OracleOf<Family>& oracle) {
  const std::vector<std::uint16_t> right = next_hops<Family>(oracle, input.addresses);
  std::vector<std::uint16_t> given(right.size());
  for (const auto& contender : contenders) {
    contender->prepare(input.addresses);
    for (const std::size_t batch : kBatches) {
      std::fill(given.begin(), given.end(), static_cast<std::uint16_t>(~right[0]));
      contender->answers(input.addresses, batch, given.data());
      const auto wrong = std::mismatch(right.begin(), right.end(), given.begin());
      if (wrong.first == right.end()) continue;
      const auto at = static_cast<std::size_t>(wrong.first - right.begin());
      throw WrongAnswer(fmt::format("{}: {} leads to {}, the oracle says {}", contender->name(),
                                    to_string(address_of(input.addresses[at])), given[at], right[at]));
    }
  }
}

/// Series with their median ratios to the reference.
struct Comparison {
  std::string title;
  std::vector<Series> series;
  std::vector<double> ratios;

  /// Returns the ratio of a series; 0 if there is no such series.
  double ratio_of(std::string_view name) const {
    for (std::size_t i = 0; i < series.size(); ++i) {
      if (series[i].name == name) return ratios[i];
    }
    return 0;
  }
  /// Returns the ratio of a table on the better CPU engine.
  double best_ratio_of(const std::string& table) const {
    return std::max(ratio_of("penumbra scalar, " + table), ratio_of("penumbra gopt, " + table));
  }
};

template <class Family>
Comparison compare(std::span<const std::unique_ptr<LookupContenderOf<ColumnOf<Family>>>> contenders,
                   const InputAddressesOf<Family>& set, std::size_t batch, unsigned rounds,
                   const std::string& reference, const std::string& benchmark, Report& report) {
  std::vector<Contender> turns;
  turns.reserve(contenders.size());
  for (const auto& contender : contenders) {
    turns.push_back({contender->name(),
                     [&set, batch, lookup = contender.get()] {
                       // Warms the caches, which hold the table of the contender before.
                       lookup->pass(std::span(set.addresses).first(set.addresses.size() / 4), batch);
                       const double begin = thread_time();
                       lookup->pass(set.addresses, batch);
                       return millions_a_second(set.addresses.size(), thread_time() - begin);
                     },
                     role_of(contender->name())});
  }
  Comparison comparison{fmt::format("{}, batches of {}", set.name, batch), interleave(turns, rounds), {}};
  comparison.ratios = report.compare(comparison.title, "M lookups/s/core", comparison.series, reference,
                                     Place{{benchmark, fmt::format("batches of {}", batch), "addresses"}, set.name});
  return comparison;
}

}  // namespace penumbra::bench
