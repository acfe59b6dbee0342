// SPDX-License-Identifier: Apache-2.0
#include "control/stage_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "penumbra/function.h"
#include "testing/message_of.h"

namespace penumbra::control {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<Function> create_none(const ConfigNode& /*config*/, const FunctionContext& /*context*/) {
  return nullptr;
}
const bool kGraphFilter = register_function({"graph_filter", "passes on what it does not drop", {}, create_none});
const bool kGraphTaker = register_function(
    {.name = "graph_taker", .summary = "ends", .topics = {}, .create = create_none, .passes_on = PassesOn::nothing});

RouterConfig parse_stages(const std::string& stages) {
  return parse_config("ports: [{name: a, device: none}]\npipeline:\n" + stages, "router.yaml", ".");
}

std::string refusal_of_stages(const std::string& stages) {
  return message_of([&] { parse_stages(stages); });
}

TEST(StageGraph, FollowsTheOrderWithoutGoTo) {
  const auto pipeline = parse_stages("- graph_filter\n- graph_filter\n- graph_taker\n").pipeline;
  EXPECT_THAT(stage_names(pipeline), ElementsAre("graph_filter", "graph_filter.2", "graph_taker"));
  EXPECT_EQ(stage_after(pipeline, 0), 1U);
  EXPECT_EQ(stage_after(pipeline, 2), 3U);
  EXPECT_THAT(reachable_stages(pipeline), ElementsAre(StageSet(0b110), StageSet(0b100), StageSet()));
}

TEST(StageGraph, FollowsGoTo) {
  const auto pipeline = parse_stages(
                            "- graph_filter: {go_to: {pass: graph_taker, denied: graph_filter.2}}\n"
                            "- graph_taker\n"
                            "- graph_filter: {go_to: {pass: graph_taker}}\n")
                            .pipeline;
  EXPECT_EQ(pipeline[0].go_to[1].target, 2);
  EXPECT_FALSE(pipeline[0].config.get("go_to").present());
  EXPECT_EQ(stage_after(pipeline, 0), 1U);
  EXPECT_EQ(stage_after(pipeline, 2), 1U);
  EXPECT_THAT(reachable_stages(pipeline), ElementsAre(StageSet(0b110), StageSet(), StageSet(0b010)));
}

TEST(StageGraph, RefusesNamesThatNoStageHas) {
  EXPECT_EQ(refusal_of_stages("- graph_filter: {go_to: {pass: graph_takr}}\n- graph_taker\n"),
            "router.yaml:3:32: there is no stage 'graph_takr' in the pipeline; did you mean 'graph_taker'?");
  EXPECT_THAT(refusal_of_stages("- graph_filter: {go_to: {pass: graph_filter.2}}\n- graph_taker\n"),
              HasSubstr("there is no stage 'graph_filter.2'"));
  EXPECT_THAT(refusal_of_stages("- graph_filter: {go_to: graph_taker}\n- graph_taker\n"),
              HasSubstr("expected outcomes"));
  EXPECT_THAT(refusal_of_stages("- graph_filter: {go_to: {pass: [graph_taker]}}\n- graph_taker\n"),
              HasSubstr("expected a text"));
  EXPECT_THAT(refusal_of_stages("- graph_filter: {go_to: {pass: graph_taker, pass: graph_taker}}\n- graph_taker\n"),
              HasSubstr("'pass' is given twice"));
  EXPECT_THAT(refusal_of_stages("- graph_filter: {go_to: {}, go_to: {}}\n"), HasSubstr("'go_to' is given twice"));
}

TEST(StageGraph, RefusesLoops) {
  EXPECT_THAT(refusal_of_stages("- graph_filter: {go_to: {pass: graph_filter}}\n"),
              AllOf(HasSubstr("router.yaml:3:32: "), HasSubstr("come back to 'graph_filter'")));
  EXPECT_THAT(refusal_of_stages("- graph_filter\n- graph_filter: {go_to: {denied: graph_filter}}\n"),
              AllOf(HasSubstr("router.yaml:4:34: "),
                    HasSubstr("packets of 'graph_filter.2' that go to 'graph_filter' come back to 'graph_filter.2'")));
  EXPECT_THAT(
      refusal_of_stages("- graph_filter: {go_to: {a: graph_filter.3}}\n- graph_filter: {go_to: {a: graph_taker}}\n"
                        "- graph_filter: {go_to: {a: graph_filter.2, pass: graph_filter.2}}\n- graph_taker\n"),
      HasSubstr("come back to 'graph_filter.3'"));
}

TEST(StageGraph, TakesAWayBackThatMakesNoLoop) {
  EXPECT_EQ(
      refusal_of_stages("- graph_filter: {go_to: {a: graph_filter.3}}\n- graph_filter: {go_to: {pass: graph_taker}}\n"
                        "- graph_filter: {go_to: {pass: graph_filter.2}}\n- graph_taker\n"),
      "no error");
}

TEST(StageGraph, RefusesStagesThatNoPacketReaches) {
  EXPECT_THAT(refusal_of_stages("- graph_filter: {go_to: {pass: graph_taker}}\n- graph_filter\n- graph_taker\n"),
              AllOf(HasSubstr("router.yaml:4:3: no packet reaches 'graph_filter'"), HasSubstr("go to other stages")));
  EXPECT_THAT(refusal_of_stages("- graph_taker\n- graph_filter\n- graph_filter\n"),
              AllOf(HasSubstr("router.yaml:4:3: "), HasSubstr("'graph_taker' in line 3 takes them all")));
  EXPECT_EQ(refusal_of_stages("- graph_taker: {go_to: {missed: graph_filter}}\n- graph_filter\n"), "no error");
}

TEST(StageGraph, WarnsOfTwoOfAKindOnlyOnOneWay) {
  EXPECT_THAT(parse_stages("- graph_filter\n- graph_filter\n").warnings,
              ElementsAre(HasSubstr("packets go through both")));
  EXPECT_THAT(
      parse_stages("- graph_filter: {go_to: {denied: graph_filter.2}}\n- graph_taker\n- graph_filter\n").warnings,
      ElementsAre());
}

}  // namespace
}  // namespace penumbra::control
