// SPDX-License-Identifier: Apache-2.0
#include "runtime/pipeline.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "penumbra/errors.h"
#include "runtime/test_support.h"
#include "testing/message_of.h"

namespace penumbra::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Pipeline make(const control::RouterConfig& config) {
  static NoReaders no_readers;
  const auto ports = port_infos(config.ports);
  return {config.pipeline, ports, no_readers};
}

std::string error_of(const control::RouterConfig& config) {
  return message_of([&] { check_pipeline(config); });
}

TEST(Pipeline, NumbersReasonsWithItsOwnFirst) {
  const Pipeline pipeline = make(test::test_config({"a"}, 1, 2, test::kSync));
  EXPECT_EQ(pipeline.reason_name(static_cast<std::uint16_t>(RuntimeReason::undecided)), "router.undecided");
  EXPECT_EQ(pipeline.reason_name(static_cast<std::uint16_t>(RuntimeReason::tx_full)), "router.tx_full");
  EXPECT_EQ(pipeline.reason_name(static_cast<std::uint16_t>(RuntimeReason::rss_ring_full)), "router.rss_ring_full");
  EXPECT_EQ(pipeline.reason_name(static_cast<std::uint16_t>(RuntimeReason::sink_failed)), "router.sink_failed");
  EXPECT_EQ(pipeline.reason_name(static_cast<std::uint16_t>(RuntimeReason::host_full)), "router.host_full");
  EXPECT_EQ(pipeline.reason_name(static_cast<std::uint16_t>(RuntimeReason::host_lost)), "router.host_lost");
  EXPECT_EQ(pipeline.reason_name(static_cast<std::uint16_t>(RuntimeReason::host_too_long)), "router.host_too_long");
  EXPECT_EQ(pipeline.reason_name(static_cast<std::uint16_t>(RuntimeReason::port_gone)), "router.port_gone");
  EXPECT_EQ(pipeline.reason_name(static_cast<std::uint16_t>(RuntimeReason::emitter_full)), "router.emitter_full");
  EXPECT_EQ(pipeline.reason_name(static_cast<std::uint16_t>(RuntimeReason::too_many_visits)), "router.too_many_visits");
  EXPECT_EQ(pipeline.reason_name(10), "test_judge.dropped");
  EXPECT_EQ(pipeline.reason_name(14), "test_judge.2.dropped");
  EXPECT_EQ(pipeline.reasons().size(), 10U + 2 * 4 + 2);
}

TEST(Pipeline, HasADropForWhatIsOverThePuntsLimit) {
  const Pipeline pipeline = make(test::test_config({"a"}, 1, 2, test::kSync));
  std::size_t punts = 0;
  const auto count = static_cast<std::uint16_t>(pipeline.reasons().size());
  for (std::uint16_t i = 0; i < count; ++i) {
    const std::uint16_t over = pipeline.over_limit(i);
    if (pipeline.reasons()[i].reason.kind != Verdict::Kind::punt) {
      EXPECT_EQ(over, i);
      continue;
    }
    ++punts;
    EXPECT_EQ(pipeline.reason_name(over), pipeline.reason_name(i) + "_over_limit");
    EXPECT_EQ(pipeline.reasons()[over].reason.kind, Verdict::Kind::drop);
  }
  EXPECT_EQ(punts, 2U);
}

TEST(Pipeline, RefusesLimitsOfWhatIsNotPunted) {
  auto config = test::test_config({"a"}, 1, 1, test::kSync);
  config.punts.own = {{.reason = "test_judge.late_punted", .packets_per_second = 5, .location = {"test.yaml", 3, 4}}};
  EXPECT_EQ(error_of(config), "no error");
  config.punts.own[0].reason = "test_judge.late_puntet";
  EXPECT_THAT(error_of(config), AllOf(HasSubstr("test.yaml:3:4"), HasSubstr("did you mean 'test_judge.late_punted'?")));
  config.punts.own[0].reason = "test_judge.dropped";
  EXPECT_THAT(error_of(config), HasSubstr("nothing is punted for the reason 'test_judge.dropped'"));
}

TEST(Pipeline, SharesOneEngineAmongStages) {
  const Pipeline pipeline = make(test::test_config({"a"}, 1, 2, test::kSync));
  ASSERT_EQ(pipeline.stages().size(), 2U);
  EXPECT_EQ(pipeline.stages()[0].shaders[0].engine, pipeline.stages()[1].shaders[0].engine);
  EXPECT_EQ(pipeline.stages()[0].shader_names(), "test_shader");
}

TEST(Pipeline, TakesAutoWhereThereIsAChoice) {
  const Pipeline pipeline = make(test::test_config({"a"}, 1, 1, "auto"));
  const Stage& stage = pipeline.stages()[0];
  EXPECT_EQ(stage.engine_names(), "auto");
  EXPECT_EQ(stage.engine_of("auto"), stage.shaders[0].engine);
  ASSERT_NE(stage.engine_of(test::kAsync), nullptr);
  EXPECT_THAT(stage.engine_of(test::kAsync)->notes(),
              testing::Contains("expects test_shader on " + stage.shaders[0].table->name()));
  EXPECT_EQ(stage.engine_of("no such engine"), nullptr);
}

TEST(Pipeline, NamesTheEnginesThatHaveTheShader) {
  EXPECT_THAT(error_of(test::test_config({"a"}, 1, 1, test::kWithout)),
              AllOf(HasSubstr("test.yaml:1"), HasSubstr("'test_without'"), HasSubstr("'test_shader'"),
                    HasSubstr("test_sync, test_async")));
}

TEST(Pipeline, RunsOnTheCpuWhereTheMachineLacksTheEngine) {
  const auto config = test::test_config({"a"}, 1, 1, test::kAbsent);
  const Pipeline pipeline = make(config);
  EXPECT_EQ(pipeline.stages()[0].engine_names(), test::kSync);
  EXPECT_EQ(pipeline.stages()[0].configured_engine, test::kAbsent);
  EXPECT_THAT(pipeline.warnings(),
              testing::ElementsAre(AllOf(HasSubstr("test.yaml:1"),
                                         HasSubstr("engine 'test_absent' is not available here: there is none in this "
                                                   "test; test_judge runs on test_sync"))));
  EXPECT_EQ(check_pipeline(config), pipeline.warnings());
  EXPECT_THAT(make(test::test_config({"a"}, 1, 1, "auto")).warnings(), testing::IsEmpty());
}

TEST(Pipeline, RefusesWhatDoesNotExist) {
  EXPECT_THAT(error_of(test::test_config({"a"}, 1, 1, "sclar")), HasSubstr("did you mean 'scalar'?"));
  auto config = test::test_config({"a"}, 1, 1, test::kSync);
  config.pipeline[0].function = "jugde";
  EXPECT_THAT(error_of(config), HasSubstr("test.yaml:1:1: there is no function 'jugde'"));
}

TEST(Pipeline, PassesOnWhatAFunctionDislikes) {
  auto config = test::test_config({"a"}, 1, 1, test::kSync);
  config.pipeline[0].config = ConfigNode::parse("stage: many", "test.yaml", ".");
  EXPECT_THAT(error_of(config), HasSubstr("test.yaml:1:8"));
}

/// Returns a configuration with a stage of test_judge for each revision.
control::RouterConfig with_revisions(const std::vector<std::uint64_t>& revisions) {
  auto config = test::test_config({"a"}, 1, revisions.size(), test::kSync);
  for (std::size_t i = 0; i < revisions.size(); ++i) {
    const std::string text = fmt::format("{{stage: {}, revision: {}}}", i, revisions[i]);
    config.pipeline[i].config = ConfigNode::parse(text, "test.yaml", ".");
  }
  return config;
}

std::vector<std::uint64_t> revisions_of(const Pipeline& pipeline) {
  std::vector<std::uint64_t> revisions;
  for (const auto& stage : pipeline.stages()) revisions.push_back(stage.function->show("judges", {})["revision"]);
  return revisions;
}

TEST(Pipeline, TakesOverTheConfigurationsOfAllStages) {
  Pipeline pipeline = make(with_revisions({1, 2, 3}));
  const auto config = with_revisions({4, 2, 5});
  SparePipeline spare(config);
  const auto changes = testing::ElementsAre("test_judge: revision 4", "test_judge.3: revision 5");
  EXPECT_THAT(pipeline.reload(spare.pipeline(), config.pipeline, false), changes);
  EXPECT_THAT(revisions_of(pipeline), testing::ElementsAre(1, 2, 3));
  EXPECT_THAT(pipeline.reload(spare.pipeline(), config.pipeline, true), changes);
  EXPECT_THAT(revisions_of(pipeline), testing::ElementsAre(4, 2, 5));
}

TEST(Pipeline, TakesOverNoneIfOneCannotBe) {
  Pipeline pipeline = make(with_revisions({1, 2, 3}));
  const auto restarts = with_revisions({4, 5, test::kTakesRestart});
  SparePipeline restarting(restarts);
  EXPECT_THROW(pipeline.reload(restarting.pipeline(), restarts.pipeline, true), InputError);
  EXPECT_THAT(revisions_of(pipeline), testing::ElementsAre(1, 2, 3));
  const auto fails = with_revisions({4, 5, test::kDoesNotFit});
  SparePipeline failing(fails);
  EXPECT_THROW(pipeline.reload(failing.pipeline(), fails.pipeline, true), std::length_error);
  EXPECT_THAT(revisions_of(pipeline), testing::ElementsAre(1, 2, 3));
}

TEST(Pipeline, OpensAnEngineQueueAStage) {
  Pipeline pipeline = make(test::test_config({"a"}, 1, 3, test::kAsync));
  const auto queues = pipeline.open_queues(0);
  EXPECT_THAT(queues, testing::SizeIs(3));
  EXPECT_THAT(queues, testing::Each(testing::ElementsAre(testing::NotNull())));
}

TEST(Pipeline, StoresCalibrationsUnderTheirEnginesNamesAndConditions) {
  for (const std::string engine : {test::kAsync, "auto"}) {
    Pipeline first = make(test::test_config({"a"}, 1, 1, engine)),
             second = make(test::test_config({"a"}, 1, 1, engine));
    const auto queues = first.open_queues(0), others = second.open_queues(0);
    EXPECT_THAT(first.calibrations(), testing::IsEmpty()) << "nobody knows yet under which conditions";
    first.load_calibrations({});
    auto calibrations = first.calibrations();
    ASSERT_THAT(calibrations[test::kAsync], testing::SizeIs(1)) << engine;
    EXPECT_EQ(calibrations[test::kAsync][0].calibration_key, "made for tests");
    calibrations[test::kAsync].push_back(
        {.shader = "test_shader", .value = 4, .calibration_key = "on another accelerator"});
    second.load_calibrations(calibrations);
    EXPECT_THAT(second.stages()[0].engine_of(test::kAsync)->notes(), testing::Contains("recalls 1")) << engine;
  }
}

TEST(Pipeline, TellsAnEngineWhatToExpectBeforeItsQueuesAndWhatWasFoundAfterThem) {
  Pipeline pipeline = make(test::test_config({"a"}, 1, 1, test::kAsync));
  const auto queues = pipeline.open_queues(7);
  pipeline.load_calibrations({});
  const auto notes = pipeline.stages()[0].shaders[0].engine->notes();
  ASSERT_THAT(notes, testing::SizeIs(4));
  const std::string table = pipeline.stages()[0].shaders[0].table->name();
  EXPECT_EQ(notes[0], "uses " + table);
  EXPECT_EQ(notes[1], "expects test_shader on " + table);
  EXPECT_EQ(notes[2], "a queue for core 7");
  EXPECT_EQ(notes[3], "recalls 0") << "nothing was found, which is a moment to measure";
}

}  // namespace
}  // namespace penumbra::runtime
