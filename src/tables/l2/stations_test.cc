// SPDX-License-Identifier: Apache-2.0
//
// The stations of a switch on every engine, compared with a map: random stations, and the addresses of real captures.
#include "stations.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "base/shared_data.h"
#include "engines/conformance.h"
#include "penumbra/bytes.h"
#include "tables/capture_frames.h"

namespace penumbra {
namespace {

using Oracle = std::map<Station, std::uint16_t>;

constexpr std::uint64_t kBroadcast = 0xFFFFFFFFFFFF;

std::uint16_t right(const Oracle& oracle, Station station) {
  const auto found = oracle.find(station);
  return found == oracle.end() ? StationTable::kUnknown : found->second;
}

class StationLookup : public testing::TestWithParam<std::string> {
 protected:
  void insert(Station station, std::uint16_t value) {
    ASSERT_EQ(table_.insert(station, value), oracle_.insert_or_assign(station, value).second);
  }
  /// Looks up all present stations and `probes`.
  void expect_equal(std::vector<Station> probes) {
    table_.commit();
    for (const auto& each : oracle_) probes.push_back(each.first);
    std::vector<std::uint64_t> keys;
    keys.reserve(probes.size());
    for (const Station station : probes) keys.push_back(station.key());
    for (const std::uint32_t batch : conformance::kBatchSizes) {
      std::vector<std::uint16_t> values(keys.size(), 0x1234);
      run_({keys.data()}, {values.data()}, keys.size(), batch);
      for (std::size_t i = 0; i < keys.size(); ++i) {
        ASSERT_EQ(values[i], right(oracle_, probes[i])) << probes[i].vlan << " " << to_string(probes[i].mac);
      }
    }
  }

  NoReaders no_readers_;
  StationTable table_{5, no_readers_};
  Oracle oracle_;
  conformance::ShaderRun run_{GetParam(), "l2_lookup", table_.table()};
};

TEST_P(StationLookup, OfAnEmptyTableFindsNobody) {
  expect_equal({{0, {0}}, {4095, {kBroadcast}}, {1, {0x020000000001}}});
}

TEST_P(StationLookup, TellsVlansAndTheFirstFromTheLastAddress) {
  insert({0, {0}}, 1);
  insert({4095, {kBroadcast}}, 0xFFFF);
  insert({1, {0x020000000001}}, 7);
  insert({2, {0x020000000001}}, 8);
  expect_equal({{4095, {0}}, {0, {kBroadcast}}, {3, {0x020000000001}}, {1, {0x020000000000}}});
}

TEST_P(StationLookup, FindsRandomStationsAtEveryLoad) {
  Random random(1);
  const auto any = [&random] { return Station{static_cast<std::uint16_t>(random.below(4096)), {random.next() >> 16}}; };
  for (const std::size_t percent : {10, 50, 90, 95}) {
    while (table_.size() < table_.slots() * percent / 100) {
      insert(any(), static_cast<std::uint16_t>(1 + random.below(0xFFFF)));
    }
    std::vector<Station> nobody(5000);
    for (Station& station : nobody) station = any();
    expect_equal(nobody);
  }
}

/// Consecutive addresses, as a vendor or a cloud assigns them.
TEST_P(StationLookup, FindsStationsInARow) {
  std::vector<Station> nobody;
  for (std::uint64_t i = 0; i < 60'000 / kSanitizerScale; ++i) {
    insert({static_cast<std::uint16_t>(i % 4), {std::uint64_t{0x525400000000} + i}},
           static_cast<std::uint16_t>(1 + i % 64));
    nobody.push_back({static_cast<std::uint16_t>(i % 4 + 4), {std::uint64_t{0x525400000000} + i}});
  }
  expect_equal(nobody);
}

/// Returns the sources and destinations of a capture.
std::vector<Station> stations_of(const std::filesystem::path& path) {
  std::vector<Station> stations;
  for (const auto& frame : frames_of(path)) {
    if (frame.size() < 14) break;
    for (const std::size_t at : {0, 6}) {
      const std::uint64_t high = load_be16(&frame[at]), low = load_be32(&frame[at + 2]);
      stations.push_back({1, {high << 32 | low}});
    }
  }
  return stations;
}

TEST_P(StationLookup, FindsTheAddressesOfRealCaptures) {
  const auto folder = shared_data() / "pcap";
  if (!exists(folder)) GTEST_SKIP() << folder << " is not there";
  std::vector<Station> nobody;
  for (const char* name : {"snabb_sanitized4k.pcap", "tcpreplay_test.pcap"}) {
    for (const Station station : stations_of(folder / name)) {
      insert(station, static_cast<std::uint16_t>(1 + oracle_.size() % 64));
      nobody.push_back({2, station.mac});
    }
  }
  ASSERT_GT(oracle_.size(), 10U);
  expect_equal(nobody);
}

PENUMBRA_FOR_EACH_ENGINE_AND_SETTING(StationLookup);

TEST(StationTable, EqualsAMapThroughRandomChanges) {
  NoReaders no_readers;
  StationTable table(6, no_readers);
  Oracle oracle;
  Random random(2);
  for (std::size_t i = 0; i < 200'000 / kSanitizerScale; ++i) {
    const Station station{static_cast<std::uint16_t>(random.below(4)), {Random::mixed(random.below(4000)) >> 16}};
    ASSERT_EQ(table.find(station), right(oracle, station));
    if (random.below(3) == 0) {
      ASSERT_EQ(table.remove(station), oracle.erase(station) == 1);
    } else {
      const auto value = static_cast<std::uint16_t>(1 + random.below(0xFFFF));
      ASSERT_EQ(table.insert(station, value), oracle.insert_or_assign(station, value).second);
    }
  }
  Oracle content;
  table.for_each([&](Station station, std::uint16_t value) { EXPECT_TRUE(content.emplace(station, value).second); });
  EXPECT_EQ(content, oracle);
  EXPECT_EQ(table.size(), oracle.size());
}

TEST(StationTable, RefusesWhatIsNoStation) {
  NoReaders no_readers;
  StationTable table(7, no_readers);
  EXPECT_THROW(table.insert({4096, {1}}, 1), std::invalid_argument);
  EXPECT_THROW(table.insert({1, {std::uint64_t{1} << 48}}, 1), std::invalid_argument);
  EXPECT_THROW(table.insert({1, {1}}, 0), std::invalid_argument);
  EXPECT_THROW(table.remove({4096, {1}}), std::invalid_argument);
  EXPECT_THROW(table.find({4096, {1}}), std::invalid_argument);
  EXPECT_EQ(table.size(), 0U);
}

}  // namespace
}  // namespace penumbra
