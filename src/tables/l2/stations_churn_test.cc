// SPDX-License-Identifier: Apache-2.0
//
// Lookups while stations are added, removed and moved in a table that is 95% full, so that insertions displace other
// stations.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "base/testing_grace_periods.h"
#include "engines/conformance.h"
#include "stations.h"
#include "tables/churn_readers.h"

namespace penumbra {
namespace {

constexpr std::size_t kChanges = 400'000 / kSanitizerScale, kRound = kChanges / 4;

struct StationChange {
  Station station;
  std::uint16_t value = 0;  ///< 0 removes the station
};

Station any_station(Random& random) {
  return {static_cast<std::uint16_t>(random.below(4096)), {random.next() >> 16}};
}

/// The script of a test: the changes, and the right answers for the stations of the lookups. Half of the stations are
/// always present and only move within the table.
struct StationScript {
  explicit StationScript(std::size_t size) {
    Random random(7);
    while (before.size() < size) before.push_back(any_station(random));
    for (std::size_t i = 0; i < size; ++i) add(before[i], static_cast<std::uint16_t>(1 + i % 0xFFFF));
    std::vector<std::size_t> there, away;
    for (std::size_t i = size / 2; i < size; ++i) there.push_back(i);
    for (std::size_t i = 0; i < size / 8; ++i) {
      away.push_back(keys.size());
      add(any_station(random), 0);
    }
    while (changes.size() < kChanges) {
      const auto value = static_cast<std::uint16_t>(1 + random.below(0xFFFF));
      std::size_t& leaving = there[random.below(static_cast<std::uint32_t>(there.size()))];
      std::size_t& coming = away[random.below(static_cast<std::uint32_t>(away.size()))];
      change(leaving, value);
      change(leaving, 0);
      change(coming, value);
      std::swap(leaving, coming);
    }
  }

  std::vector<Station> before;         ///< present at the beginning
  std::vector<StationChange> changes;  ///< after the beginning
  std::vector<std::uint64_t> keys;     ///< keys of the lookups
  std::vector<churn::Answers> answers;

 private:
  void add(Station station, std::uint16_t value) {
    stations_.push_back(station);
    keys.push_back(station.key());
    answers.push_back({{0, value}});
  }
  void change(std::size_t index, std::uint16_t value) {
    changes.push_back({stations_[index], value});
    answers[index].emplace_back(changes.size(), value);
  }

  std::vector<Station> stations_;
};

class StationChurn : public testing::TestWithParam<std::string> {};

TEST_P(StationChurn, NeverHidesAStationFromReaders) {
  QuiescentStates states(churn::kReaders);
  StationTable table(11, states);
  const std::size_t slots = table.slots();
  const StationScript script(slots * 95 / 100);
  conformance::ShaderRun run(GetParam(), "l2_lookup", table.table());
  for (std::size_t i = 0; i < script.before.size(); ++i) {
    table.insert(script.before[i], script.answers[i].front().second);
  }
  table.commit();
  const auto apply = [&](std::size_t i) {
    const auto& [station, value] = script.changes[i];
    if (value == 0) {
      table.remove(station);
    } else {
      table.insert(station, value);
    }
    table.commit();
  };
  EXPECT_EQ(churn::wrong_answers(run, script.keys, script.answers, states, script.changes.size(), kRound, apply), 0U);
  EXPECT_EQ(table.slots(), slots) << "then nothing had to make room";
}

/// The table grows from nearly empty to 32 times its first size during lookups.
TEST_P(StationChurn, HidesNothingWhileTheTableGrows) {
  QuiescentStates states(churn::kReaders);
  StationTable table(12, states);
  const std::size_t slots = table.slots(), size = slots * (kSanitizerScale == 1 ? 16 : 2) + 1;
  Random random(8);
  std::vector<Station> stations;
  std::vector<std::uint64_t> keys;
  std::vector<churn::Answers> answers;
  for (std::size_t i = 0; i < size; ++i) {
    stations.push_back(any_station(random));
    keys.push_back(stations.back().key());
    answers.push_back({{0, StationTable::kUnknown}, {i + 1, static_cast<std::uint16_t>(1 + i % 0xFFFF)}});
  }
  conformance::ShaderRun run(GetParam(), "l2_lookup", table.table());
  const auto apply = [&](std::size_t i) {
    table.insert(stations[i], answers[i].back().second);
    table.commit();
  };
  EXPECT_EQ(churn::wrong_answers(run, keys, answers, states, size, size / 4, apply), 0U);
  EXPECT_GE(table.slots(), size);
}

PENUMBRA_FOR_EACH_ENGINE(StationChurn);

}  // namespace
}  // namespace penumbra
