// SPDX-License-Identifier: Apache-2.0
//
// Tests packets that functions hold, create, join and redirect, and jobs in several rounds.
#include "runtime/emission.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "runtime/test_support.h"

namespace penumbra::runtime {
namespace {

using test::HolderRole;
using test::TestBed;

std::vector<control::StageConfig> holder_and_judge(const std::string& engine, const std::string& config = "{}") {
  return {{"test_holder", engine, ConfigNode::parse(config, "test.yaml", ".")},
          {"test_judge", engine, ConfigNode::parse("stage: 0", "test.yaml", ".")}};
}
std::vector<control::StageConfig> holder_and_judge(const std::string& engine, HolderRole role) {
  return holder_and_judge(engine, fmt::format("role: {}", static_cast<int>(role)));
}

class Emission : public testing::TestWithParam<const char*> {};

TEST_P(Emission, ConservesPackets) {
  for (const std::uint16_t workers : {1, 2}) {
    TestBed bed({{.name = "a", .queues = 2, .packets_per_queue = 20'000, .seed = 1},
                 {.name = "b", .packets_per_queue = 7'000, .seed = 2}},
                workers, holder_and_judge(GetParam()));
    const Statistics statistics = bed.run_and_check_counts({});
    EXPECT_EQ(statistics.received.packets, 47'000U);
    EXPECT_GT(statistics.created, 0U);
    EXPECT_GT(statistics.absorbed, 0U);
    EXPECT_EQ(statistics.absorbed % 2, 0U);
    EXPECT_GT(test::count_of(statistics, "router", "too_many_visits"), 0U);
    EXPECT_EQ(test::count_of(statistics, "router", "emitter_full"), 0U);
    EXPECT_EQ(test::count_of(statistics, "router", "undecided"), 0U);
  }
}

TEST_P(Emission, EndsByQuotaAndByStopWithNothingHeld) {
  {
    TestBed bed({{.name = "a", .endless = true}}, 1, holder_and_judge(GetParam()));
    EXPECT_EQ(bed.run_and_check_counts({.time = {}, .packets = 10'000}).received.packets, 10'000U);
  }
  TestBed bed({{.name = "a", .endless = true}}, 2, holder_and_judge(GetParam()));
  EXPECT_GT(bed.run_and_check_counts({.time = std::chrono::milliseconds(50), .packets = {}}).received.packets, 0U);
}

TEST_P(Emission, HeldPacketsComeBackAndAllLeave) {
  TestBed bed({{.name = "a", .packets_per_queue = 3'000}}, 1, holder_and_judge(GetParam(), HolderRole::hold));
  const Statistics statistics = bed.run_and_check_counts({});
  EXPECT_EQ(statistics.sent.packets, 3'000U);
  EXPECT_EQ(statistics.created + statistics.absorbed, 0U);
}

TEST_P(Emission, DropsReleasedPacketsForWhichThereIsNoRoom) {
  constexpr std::uint64_t kPackets = 5 * Emissions::kCapacity;
  TestBed bed({{.name = "a", .packets_per_queue = kPackets}}, 1, holder_and_judge(GetParam(), HolderRole::hold));
  const Statistics statistics = bed.run_and_check_counts({});
  EXPECT_EQ(statistics.sent.packets + test::count_of(statistics, "router", "emitter_full"), kPackets);
}

TEST_P(Emission, JoinsPairs) {
  TestBed bed({{.name = "a", .packets_per_queue = 1'001}}, 1, holder_and_judge(GetParam(), HolderRole::join));
  const Statistics statistics = bed.run_and_check_counts({});
  EXPECT_EQ(statistics.created, 500U);
  EXPECT_EQ(statistics.absorbed, 1'000U);
  EXPECT_EQ(statistics.sent.packets, 501U) << "the last packet has no partner";
}

TEST_P(Emission, DropsPacketsThatGoRound) {
  TestBed bed({{.name = "a", .packets_per_queue = 1'000}}, 1, holder_and_judge(GetParam(), HolderRole::go_round));
  bed.router().trace("add", std::vector<std::string>{"1"});
  EXPECT_EQ(test::count_of(bed.run_and_check_counts({}), "router", "too_many_visits"), 1'000U);
  const auto lines = bed.router().trace("show", {}).at(0).at("lines").get<std::vector<std::string>>();
  EXPECT_EQ(lines.size(), StageEmitter::kMostVisits + 2U);
  EXPECT_EQ(lines.back(), "drop router.too_many_visits");
}

TEST_P(Emission, RedirectedPacketsKeepTheirOrder) {
  TestBed bed({{.name = "a", .packets_per_queue = 20'000}}, 1, holder_and_judge(GetParam(), HolderRole::go_on));
  EXPECT_EQ(bed.run_and_check({}).sent.packets, 20'000U);
}

/// The second job of a chunk starts while other chunks wait, and flows keep their order.
TEST_P(Emission, RunsJobsInRoundsInOrder) {
  for (const std::uint16_t workers : {1, 2}) {
    TestBed bed({{.name = "a", .queues = 3, .packets_per_queue = 20'000}}, workers,
                holder_and_judge(GetParam(), HolderRole::shade_twice));
    EXPECT_EQ(bed.run_and_check({}).sent.packets, 60'000U);
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, Emission, testing::Values(test::kSync, test::kAsync, test::kHoarder),
                         [](const auto& each) { return std::string(each.param); });

/// The first worker gets no packets any more, and runs on because the second one does. Without ticks, finish() would
/// release its packets.
TEST(Tick, ComesWithoutPackets) {
  TestBed bed({{.name = "a", .packets_per_queue = 100}, {.name = "b", .endless = true}}, 2,
              holder_and_judge(test::kSync, HolderRole::hold));
  bed.run_and_check_counts({.time = std::chrono::milliseconds(300), .packets = {}});
  EXPECT_EQ(bed.router().show("holder", {}).at("released_by_ticks"), 100);
}

}  // namespace
}  // namespace penumbra::runtime
