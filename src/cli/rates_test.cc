// SPDX-License-Identifier: Apache-2.0
#include "cli/rates.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace penumbra::cli {
namespace {

using json = nlohmann::ordered_json;

json port(const char* name, std::uint64_t packets, std::uint64_t bytes) {
  return {{"name", name},      {"driver", "x"},   {"mtu", 1500},   {"rx_packets", packets},
          {"rx_bytes", bytes}, {"tx_packets", 0}, {"tx_bytes", 0}, {"missed", 3}};
}

TEST(Rates, CountFramesAsTheyAreOnTheWire) {
  const json before = {port("wan", 1000, 60000), port("lan", 0, 0)};
  const json now = {port("wan", 3000, 180000), port("lan", 0, 0)};
  const json rows = with_rates(before, now, 0.5);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0], (json{{"name", "wan"},
                           {"rx_packets", 3000},
                           {"rx_packets_per_second", 4000.0},
                           {"rx_bytes", 180000},
                           {"rx_wire_bits_per_second", 2.0 * 8 * (120000 + 24 * 2000)},
                           {"tx_packets", 0},
                           {"tx_packets_per_second", 0.0},
                           {"tx_bytes", 0},
                           {"tx_wire_bits_per_second", 0.0},
                           {"missed", 3}}));
  EXPECT_EQ(rows[1]["rx_packets_per_second"], 0.0);
}

TEST(Rates, AreUnknownAtFirstAndWhenAnotherRouterAnswers) {
  const auto now = json::array({port("wan", 10, 600)});
  EXPECT_TRUE(with_rates(nullptr, now, 0)[0]["rx_packets_per_second"].is_null());
  EXPECT_TRUE(with_rates(json::array({port("wan", 11, 660)}), now, 1)[0]["rx_wire_bits_per_second"].is_null());
}

TEST(Rates, TakeARowThatWasNotThereAsZero) {
  const auto drop = [](const char* reason, int packets) -> json {
    return {{"stage", "ipv4"}, {"reason", reason}, {"kind", "drop"}, {"packets", packets}, {"help", "why"}};
  };
  const json rows = with_rates(json::array({drop("b", 5)}), {drop("a", 7), drop("b", 6)}, 1);
  EXPECT_EQ(rows[0],
            (json{{"stage", "ipv4"}, {"reason", "a"}, {"kind", "drop"}, {"packets", 7}, {"packets_per_second", 7.0}}));
  EXPECT_EQ(rows[1]["packets_per_second"], 1.0);
}

TEST(Rates, GiveTheFiguresOfTheTimeBetween) {
  const auto worker = [](int packets, int chunks, int busy, int all) -> json {
    return {{"worker", 0},
            {"core", 3},
            {"packets", packets},
            {"burst", 99},
            {"busy", 0.99},
            {"asleep", 0.99},
            {"cycles_per_packet", {{"all", 99}}},
            {"counters", {{"chunks", chunks}, {"busy_cycles", busy}, {"asleep_cycles", busy / 2}, {"cycles", all}}}};
  };
  const auto earlier = json::array({worker(100, 10, 5000, 20000)});
  const json rows = with_rates(earlier, json::array({worker(300, 20, 9000, 28000)}), 2);
  EXPECT_EQ(rows[0], (json{{"worker", 0},
                           {"packets", 300},
                           {"packets_per_second", 100.0},
                           {"burst", 20.0},
                           {"busy", 0.5},
                           {"asleep", 0.25},
                           {"cycles_per_packet", 20.0}}));
  const json idle = with_rates(earlier, json::array({worker(100, 10, 5000, 28000)}), 2);
  EXPECT_TRUE(idle[0]["burst"].is_null());
  EXPECT_EQ(idle[0]["busy"], 0.0);
}

}  // namespace
}  // namespace penumbra::cli
