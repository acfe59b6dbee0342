// SPDX-License-Identifier: Apache-2.0
//
// Tests plans that are measured before traffic, fixed by the user, or stored for the next run. Timings on a fake device
// have no meaning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/engine.h"
#include "cuda/fake_device.h"
#include "cuda/fake_world_test.h"
#include "cuda/launch_plan.h"
#include "engines/conformance.h"

namespace penumbra::cuda {
namespace {

using conformance::ShaderQueue;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST(CudaPlan, SurvivesBeingKept) {
  for (const unsigned streams : {1U, 4U, kMostStreams}) {
    for (const unsigned gather : {1U, 32U, kMostSegments}) {
      for (const Access access : {Access::copied, Access::mapped, Access::by_length}) {
        const LaunchPlan plan{.streams = streams, .gather = gather, .access = access};
        EXPECT_EQ(plan_of(to_value(plan)), plan);
      }
    }
  }
}

TEST(CudaPlan, IsNoneOfAnotherValue) {
  for (const std::uint64_t value :
       {0ULL, 7ULL, 1ULL << 16, 1ULL << 16 | 65 << 8, 1ULL << 16 | 1 << 8 | 3, 17ULL << 16 | 1 << 8, ~0ULL}) {
    EXPECT_FALSE(plan_of(value)) << value;
  }
}

class CudaCalibration : public testing::Test {
 protected:
  /// An engine with announced batches and a queue, like a router's engine before traffic.
  struct Begun {
    Begun(FakeWorld& world, const EngineSettings& told) : engine(world.backend(), told) {
      engine.use_table(world.modulo);
      engine.announce(world.modulo_shader(), world.modulo);
      queue = std::make_unique<ShaderQueue>(engine, world.modulo_shader(), world.modulo);
    }
    CudaEngine engine;
    std::unique_ptr<ShaderQueue> queue;
  };
  void expect_answers(ShaderQueue& queue) {
    const std::vector<std::uint32_t> in = world_.numbers(5'000);
    FakeWorld::expect_right(queue, in, 64);
  }

  FakeWorld world_;
};

TEST_F(CudaCalibration, IsDoneOnceAndRecalledInTheNextRun) {
  std::vector<EngineCalibration> calibrations;
  {
    Begun run(world_, {});
    run.engine.load_calibrations({});
    expect_answers(*run.queue);
    calibrations = run.engine.calibrations();
    EXPECT_THAT(run.engine.notes(), Contains(HasSubstr("echo: ")));
  }
  ASSERT_THAT(calibrations, SizeIs(1));
  EXPECT_EQ(calibrations[0].shader, "echo");
  EXPECT_GT(calibrations[0].gain, 0);
  const auto plan = plan_of(calibrations[0].value);
  ASSERT_TRUE(plan);
  Begun run(world_, {});
  run.engine.load_calibrations(calibrations);
  expect_answers(*run.queue);
  EXPECT_THAT(run.engine.calibrations(), IsEmpty());
  EXPECT_THAT(run.engine.notes(), Contains(HasSubstr("in an earlier run")));
  EXPECT_THAT(run.engine.notes(), Contains(HasSubstr(describe(*plan))));
}

TEST_F(CudaCalibration, KeepsToWhatWasTold) {
  Begun run(world_, {{"streams", 3}, {"gather", 5}});
  const LaunchPlan other{.streams = 2, .gather = 5};
  run.engine.load_calibrations(
      {{.shader = "echo", .size_class = world_.modulo.size_class(), .value = to_value(other), .gain = 1}});
  const auto calibrations = run.engine.calibrations();
  ASSERT_THAT(calibrations, SizeIs(1)) << "the earlier run's is none that was told";
  const auto plan = plan_of(calibrations[0].value);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->streams, 3U);
  EXPECT_EQ(plan->gather, 5U);
}

/// A result found among fewer plans is not the best of all plans.
TEST_F(CudaCalibration, HoldsForTheSameConstraintsOnly) {
  const auto conditions = [this](const EngineSettings& told) { return Begun(world_, told).engine.calibration_key(); };
  EXPECT_EQ(conditions({}), "fake");
  EXPECT_EQ(conditions({{"streams", 3}}), "fake, streams=3");
  EXPECT_EQ(conditions({{"streams", 3}, {"gather", 5}, {"mapped", 0}}), "fake, streams=3,gather=5,mapped=0");
  EXPECT_EQ(conditions({{"mapped", 1}}), "fake, mapped=1");
}

TEST_F(CudaCalibration, KeepsTheSizeClassOfTheMeasuring) {
  struct Grown {
    echo_view view;
    const std::byte* more;
  };
  const std::vector<std::byte> more(4096);
  const Grown grown{{FakeWorld::kModulus}, more.data()};
  Begun run(world_, {});
  run.engine.load_calibrations({});
  const unsigned then = world_.modulo.size_class();
  world_.modulo.publish(grown, {{offsetof(Grown, more), more.data(), more.size()}});
  ASSERT_NE(world_.modulo.size_class(), then);
  ASSERT_THAT(run.engine.calibrations(), SizeIs(1));
  EXPECT_EQ(run.engine.calibrations()[0].size_class, then);
}

TEST_F(CudaCalibration, IsLeftOutWhereEverythingWasTold) {
  Begun run(world_, {{"streams", 3}, {"gather", 5}, {"mapped", 1}});
  run.engine.load_calibrations({});
  EXPECT_THAT(run.engine.calibrations(), IsEmpty());
  EXPECT_THAT(run.engine.notes(), Contains(HasSubstr("3 streams, up to 5 batches a launch, on the host's memory")));
  expect_answers(*run.queue);
}

TEST_F(CudaCalibration, SurvivesTheLossOfTheGpu) {
  Begun run(world_, {});
  world_.faults.launches_until_fault = 100;
  run.engine.load_calibrations({});
  EXPECT_THAT(run.engine.calibrations(), IsEmpty());
  EXPECT_THAT(run.engine.notes(), Contains(HasSubstr("lost: ")));
  EXPECT_THAT(run.engine.notes(), Not(Contains(AnyOf(HasSubstr("batches in"), HasSubstr("came back")))))
      << "none is a worker's";
  expect_answers(*run.queue);
}

TEST_F(CudaCalibration, IsMeasuredWhileTablesChange) {
  ChangingTable table;
  CudaEngine engine(world_.backend(), LaunchOptions{});
  engine.use_table(world_.modulo);
  engine.use_table(table.table());
  engine.announce(world_.modulo_shader(), world_.modulo);
  engine.announce(world_.lookup_shader(), table.table());
  const auto queue = engine.open_queue();
  table.change_during([&engine] { engine.load_calibrations({}); }, std::chrono::microseconds(50));
  EXPECT_THAT(engine.calibrations(), SizeIs(2));
}

TEST_F(CudaCalibration, NeedsATableThatWasPublished) {
  Table empty("empty");
  CudaEngine engine(world_.backend(), LaunchOptions{});
  engine.use_table(empty);
  engine.announce(world_.modulo_shader(), empty);
  const auto queue = engine.open_queue();
  engine.load_calibrations({});
  EXPECT_THAT(engine.calibrations(), IsEmpty());
  EXPECT_THAT(engine.notes(), Not(Contains(HasSubstr("lost"))));
}

}  // namespace
}  // namespace penumbra::cuda
