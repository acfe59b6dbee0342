// SPDX-License-Identifier: Apache-2.0
//
// Tests stages whose packets continue with another stage by the configuration (`go_to`).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/explain.h"
#include "runtime/test_support.h"
#include "testing/message_of.h"

namespace penumbra::runtime {
namespace {

using control::GoTo;
using test::count_of;
using test::HolderRole;
using test::Order;
using test::TestBed;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;

GoTo go_to(const std::string& reason, std::uint16_t target) {
  return {.reason = reason, .stage = "", .location = {"test.yaml", 7, 8}, .target = target};
}

control::StageConfig judge(const std::string& engine, int stage, std::vector<GoTo> all = {}) {
  return {
      "test_judge", engine, ConfigNode::parse(fmt::format("stage: {}", stage), "test.yaml", "."), {}, std::move(all)};
}

/// Dropped packets of the first stage go to the third one, which the others skip. The last stage sends all.
std::vector<control::StageConfig> detour(const std::string& engine) {
  return {judge(engine, 0, {go_to("late_dropped", 2), go_to("late_punted", 1)}), judge(engine, 1, {go_to("pass", 3)}),
          judge(engine, 2), judge(engine, 3)};
}

class GoToTest : public testing::TestWithParam<const char*> {};

TEST_P(GoToTest, ConservesPacketsAndTakesThemToTheStage) {
  for (const std::uint16_t workers : {1, 2}) {
    TestBed bed({{.name = "a",
                  .queues = 2,
                  .packets_per_queue = 20'000,
                  .orders = {Order::pass, Order::late_drop, Order::late_punt, Order::drop, Order::late_send}}},
                workers, detour(GetParam()));
    const Statistics statistics = bed.run_and_check_counts({});
    EXPECT_EQ(count_of(statistics, "test_judge", "late_dropped"), 0U);
    EXPECT_EQ(count_of(statistics, "test_judge", "late_punted"), 0U);
    EXPECT_EQ(count_of(statistics, "test_judge", "dropped"), bed.port(0).given(0, Order::drop));
    EXPECT_EQ(count_of(statistics, "router", "emitter_full"), 0U);
    // A fifth of the packets goes from the first stage to the third one, to which no other packets come.
    const std::uint64_t third = bed.router().show("functions", {}).at(2).at("packets");
    EXPECT_EQ(third, bed.port(0).given(0, Order::late_drop));
  }
}

TEST_P(GoToTest, KeepsTheOrderOfFlowsThatGoOneWay) {
  TestBed bed({{.name = "a", .packets_per_queue = 20'000, .orders = {Order::late_pass}}}, 1,
              {judge(GetParam(), 0, {go_to("pass", 2)}), judge(GetParam(), 1), judge(GetParam(), 2)});
  const Statistics statistics = bed.run_and_check({});
  EXPECT_EQ(count_of(statistics, "router", "undecided"), 20'000U);
  EXPECT_EQ(bed.router().show("functions", {}).at(1).at("packets"), 0U);
}

TEST_P(GoToTest, HoldsForPacketsThatAFunctionReleases) {
  const auto role = fmt::format("role: {}", static_cast<int>(HolderRole::hold));
  TestBed bed({{.name = "a", .packets_per_queue = 3'000}}, 1,
              {{"test_holder", GetParam(), ConfigNode::parse(role, "test.yaml", "."), {}, {go_to("pass", 2)}},
               judge(GetParam(), 1),
               judge(GetParam(), 0)});
  EXPECT_EQ(bed.run_and_check_counts({}).sent.packets, 3'000U);
  EXPECT_EQ(bed.router().show("functions", {}).at(1).at("packets"), 0U);
}

INSTANTIATE_TEST_SUITE_P(Engines, GoToTest, testing::Values(test::kSync, test::kAsync, test::kHoarder),
                         [](const auto& each) { return std::string(each.param); });

TEST(GoToTest, IsShownByTraceExplainAndShow) {
  TestBed bed({{.name = "wan", .packets_per_queue = 1, .orders = {Order::late_drop}}, {.name = "lan"}}, 1,
              detour(test::kSync));
  bed.router().trace("add", Words{"1"});
  bed.run_and_check({});
  EXPECT_THAT(bed.router().trace("show", {}).at(0).at("lines").get<Words>(),
              ElementsAre(HasSubstr("-> drop test_judge.late_dropped, go to test_judge.3"), HasSubstr("test_judge.3: "),
                          "drop test_judge.3.late_dropped"));
  const auto functions = bed.router().show("functions", {});
  EXPECT_EQ(functions[0]["go_to"].get<Words>(), (Words{"late_dropped: test_judge.3", "late_punted: test_judge.2"}));
  EXPECT_EQ(functions[1]["go_to"].get<Words>(), Words{"pass: test_judge.4"});
  EXPECT_EQ(functions[2]["go_to"].get<Words>(), Words{});
}

TEST(GoToTest, IsExplained) {
  test::packet_memory();
  auto config = test::test_config({"wan", "lan"}, 1, 0, test::kSync);
  config.pipeline = detour(test::kSync);
  SparePipeline spare(config);
  Explainer explainer(spare.pipeline(), [](const auto& action) { action(); });
  const std::vector<ExplainedPort> ports{{.info = config.ports[0].info, .twin = {}},
                                         {.info = config.ports[1].info, .twin = {}}};
  test::Frame frame{};
  frame.orders = {Order::late_punt, Order::late_pass, Order::drop, Order::late_send};
  frame.egress.fill(1);
  std::string digits;
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&frame);
  for (std::size_t i = 0; i < sizeof frame; ++i) digits += fmt::format("{:02x}", bytes[i]);
  const auto answer = explainer.command(ports, "wan", Words{"--hex", digits});
  Words stages;
  for (const auto& stage : answer["stages"]) {
    stages.push_back(fmt::format("{} {} {}", stage["stage"].get<std::string>(), stage["verdict"].get<std::string>(),
                                 stage.value("go_to", "")));
  }
  EXPECT_THAT(stages,
              ElementsAre("test_judge punt test_judge.2", "test_judge.2 pass test_judge.4", "test_judge.4 send "));
  EXPECT_EQ(answer["verdict"], "send");
}

TEST(GoToTest, RefusesOutcomesThatTheFunctionDoesNotHave) {
  auto config = test::test_config({"a"}, 1, 0, test::kSync);
  config.pipeline = {judge(test::kSync, 0, {go_to("late_droped", 1)}), judge(test::kSync, 1)};
  EXPECT_THAT(message_of([&] { check_pipeline(config); }),
              AllOf(HasSubstr("test.yaml:7:8: test_judge has no outcome 'late_droped'"),
                    HasSubstr("did you mean 'late_dropped'?")));
}

}  // namespace
}  // namespace penumbra::runtime
