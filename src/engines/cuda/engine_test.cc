// SPDX-License-Identifier: Apache-2.0
//
// Tests the engine on a fake device: order, gathering, changing tables, and closing in every state.
#include "cuda/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/sanitizer_scale.h"
#include "cuda/fake_device.h"
#include "cuda/fake_world_test.h"
#include "engines/conformance.h"
#include "engines/waiting_testing.h"

namespace penumbra::cuda {
namespace {

using conformance::ShaderQueue;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Setup {
  unsigned streams;
  unsigned gather;
  Access access;
};

class CudaEngineOnAFake : public testing::TestWithParam<Setup> {
 protected:
  LaunchOptions options() const {
    return {.constraints = {.streams = GetParam().streams, .gather = GetParam().gather, .access = GetParam().access},
            .patience = std::chrono::minutes(1)};  // A fake device is as slow as the machine that it shares.
  }
  FakeWorld world_;
};

TEST_P(CudaEngineOnAFake, AnswersEveryItemOfBatchesOfAnySizeInOrder) {
  CudaEngine engine(world_.backend(), options());
  engine.use_table(world_.modulo);
  ShaderQueue queue(engine, world_.modulo_shader(), world_.modulo);
  const std::vector<std::uint32_t> in = world_.numbers(50'000);
  for (const std::uint32_t batch_items : {1U, 7U, 64U, 1000U, 50'000U}) {
    std::vector<std::uint16_t> out(in.size(), 0xFFFF);
    const std::size_t items = batch_items == 1 ? 2'000 : in.size();
    queue({in.data()}, {out.data()}, items, batch_items);
    for (std::size_t i = 0; i < items; ++i)
      ASSERT_EQ(out[i], in[i] % FakeWorld::kModulus) << i << " of " << batch_items;
    if (items < out.size()) {
      ASSERT_EQ(out[items], 0xFFFF);
    }
  }
  EXPECT_LE(world_.faults.most_segments, static_cast<int>(GetParam().gather));
}

TEST_P(CudaEngineOnAFake, WakesAServiceThatWaits) {
  CudaEngine engine(world_.backend(), options());
  engine.use_table(world_.modulo);
  conformance::expect_that_waiting_returns_batches(engine, world_.modulo, FakeWorld::kModulus);
}

TEST_P(CudaEngineOnAFake, WakesAServiceOnlyWhenABatchIsDone) {
  CudaEngine engine(world_.backend(), options());
  engine.use_table(world_.modulo);
  const auto queue = engine.open_queue();
  const std::vector<std::uint32_t> in = FakeWorld::numbers(64);
  std::vector<std::uint16_t> out(in.size());
  Batch batch = world_.modulo_batch(in, out);
  for (int turn = 0; turn < 2; ++turn) {  // The first sleep finds a batch that was submitted before any sleep.
    world_.faults.stuck = true;
    ASSERT_EQ(queue->submit(batch), EngineQueue::Submitted::queued);
    const int descriptor = queue->wake_descriptor();
    ASSERT_GE(descriptor, 0);
    EXPECT_EQ(queue->poll(), nullptr);
    EXPECT_FALSE(conformance::is_readable(descriptor, std::chrono::milliseconds(5)));
    EXPECT_EQ(queue->wait(std::chrono::milliseconds(1)), nullptr) << "the time is over";
    EXPECT_EQ(queue->wake_descriptor(), descriptor);
    world_.faults.stuck = false;
    EXPECT_TRUE(conformance::is_readable(descriptor, conformance::kLongWait));
    EXPECT_EQ(queue->wait(conformance::kLongWait), &batch);
  }
}

TEST_P(CudaEngineOnAFake, AnswersBatchesThatAreLargerThanTheStagingMemory) {
  CudaEngine engine(world_.backend(), options());
  engine.use_table(world_.modulo);
  ShaderQueue queue(engine, world_.modulo_shader(), world_.modulo);
  const std::vector<std::uint32_t> in = world_.numbers(1'500'003);
  FakeWorld::expect_right(queue, in, 700'001);
  EXPECT_THAT(engine.notes(), Not(Contains(HasSubstr("came back"))));
}

TEST_P(CudaEngineOnAFake, LeavesLongColumnsWhereTheyAreIfTheirMemoryIsShared) {
  SharedColumns columns(300'001);
  CudaEngine engine(world_.backend(), options());
  engine.use_table(world_.modulo);
  ShaderQueue queue(engine, world_.modulo_shader(), world_.modulo);
  queue.share(columns.memory());
  for (const std::uint32_t batch_items : {300'001U, 20'000U, 1000U}) {
    columns.check(queue, 300'000, batch_items);
    if (GetParam().access != Access::copied) continue;
    EXPECT_EQ(columns.has(world_.faults.copied_from), batch_items > 1000) << batch_items;
    EXPECT_EQ(columns.has(world_.faults.copied_to), batch_items > 1000) << batch_items;
  }
}

TEST_P(CudaEngineOnAFake, SharesMemoryAmongQueues) {
  SharedColumns columns(50'000);
  CudaEngine engine(world_.backend(), options());
  engine.use_table(world_.modulo);
  ShaderQueue queue(engine, world_.modulo_shader(), world_.modulo);
  queue.share(columns.memory());
  {
    ShaderQueue other(engine, world_.modulo_shader(), world_.modulo);
    other.share(columns.memory());
    columns.check(other, 50'000, 50'000);
  }
  columns.check(queue, 50'000, 50'000);
}

TEST_P(CudaEngineOnAFake, ServesManyWorkersAtOnce) {
  constexpr std::size_t kWorkers = 3;
  CudaEngine engine(world_.backend(), options());
  engine.use_table(world_.modulo);
  std::vector<std::unique_ptr<ShaderQueue>> queues;
  std::vector<std::thread> workers;
  queues.reserve(kWorkers);
  workers.reserve(kWorkers);
  for (std::size_t i = 0; i < kWorkers; ++i) {
    queues.push_back(std::make_unique<ShaderQueue>(engine, world_.modulo_shader(), world_.modulo));
  }
  std::atomic<std::size_t> wrong{0};
  for (std::size_t worker = 0; worker < kWorkers; ++worker) {
    workers.emplace_back([&, worker] {
      const std::vector<std::uint32_t> in = world_.numbers(200'000 / kSanitizerScale);
      std::vector<std::uint16_t> out(in.size(), 0xFFFF);
      (*queues[worker])({in.data()}, {out.data()}, in.size(), 64);
      for (std::size_t i = 0; i < in.size(); ++i) wrong += out[i] == in[i] % FakeWorld::kModulus ? 0 : 1;
    });
  }
  for (auto& worker : workers) worker.join();
  EXPECT_EQ(wrong, 0U);
  if (GetParam().gather > 1) {
    EXPECT_GT(world_.faults.most_segments, 1) << "nothing was gathered";
  }
}

TEST_P(CudaEngineOnAFake, LooksUpInATableWhileItChanges) {
  ChangingTable table;
  CudaEngine engine(world_.backend(), options());
  engine.use_table(table.table());
  ShaderQueue queue(engine, world_.lookup_shader(), table.table());
  table.check_during(queue, [&] {
    for (std::uint16_t i = 1; i < 4'000 / kSanitizerScale; ++i) table.change(i);
  });
  table.check(queue);
  EXPECT_EQ(table.wrong_state, 0U);
  EXPECT_EQ(table.mixed, 0U);
  EXPECT_GT(table.lookups, 0U);
}

TEST_P(CudaEngineOnAFake, LooksUpInATableThatIsLoadedAnew) {
  ChangingTable table;
  CudaEngine engine(world_.backend(), options());
  engine.use_table(table.table());
  ShaderQueue queue(engine, world_.lookup_shader(), table.table());
  table.check_during(queue, [&] { table.load_and_change(8, 20); });
  EXPECT_EQ(table.wrong_state, 0U);
  EXPECT_EQ(table.mixed, 0U);
}

std::string name_of(const testing::TestParamInfo<Setup>& info) {
  const auto& [streams, gather, access] = info.param;
  const char* const how = access == Access::copied ? "copied" : (access == Access::mapped ? "mapped" : "by_length");
  return std::to_string(streams) + "_" + std::to_string(gather) + "_" + how;
}

INSTANTIATE_TEST_SUITE_P(Settings, CudaEngineOnAFake,
                         testing::Values(Setup{4, 32, Access::by_length}, Setup{4, 32, Access::copied},
                                         Setup{1, 1, Access::copied}, Setup{2, 3, Access::mapped},
                                         Setup{16, kMostSegments, Access::copied}, Setup{4, 32, Access::mapped}),
                         name_of);

/// Submits `count` batches of `items` items, and waits until all are back.
void run_batches(EngineQueue& queue, const FakeWorld& world, std::size_t count, std::size_t items) {
  const std::vector<std::uint32_t> in = world.numbers(items);
  std::vector<std::uint16_t> out(items);
  std::vector<Batch> batches(count, world.modulo_batch(in, out));
  for (Batch& batch : batches) ASSERT_EQ(queue.submit(batch), EngineQueue::Submitted::queued);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  std::size_t back = 0;
  while (back < count && std::chrono::steady_clock::now() < deadline) back += queue.poll() != nullptr ? 1 : 0;
  EXPECT_EQ(back, count);
}

/// Longer than any test.
constexpr std::chrono::minutes kForEver{10};

TEST(CudaMaxDelay, HoldsBatchesBackUntilALaunchIsFull) {
  FakeWorld world;
  CudaEngine engine(world.backend(), LaunchOptions{.constraints = {.gather = 8}, .max_delay = kForEver});
  engine.use_table(world.modulo);
  const auto queue = engine.open_queue();
  run_batches(*queue, world, 16, 64);
  EXPECT_THAT(engine.notes(), Contains("16 batches in 2 launches"));
}

TEST(CudaMaxDelay, HoldsBackNoLaunchOfManyItems) {
  FakeWorld world;
  CudaEngine engine(world.backend(), LaunchOptions{.constraints = {.gather = 8}, .max_delay = kForEver});
  engine.use_table(world.modulo);
  const auto queue = engine.open_queue();
  run_batches(*queue, world, 1, 140'000);
  EXPECT_THAT(engine.notes(), Contains(StartsWith("1 batches in "))) << "its pieces are none";
}

TEST(CudaMaxDelay, EndsAWait) {
  FakeWorld world;
  CudaEngine engine(world.backend(),
                    LaunchOptions{.constraints = {.gather = 8}, .max_delay = std::chrono::milliseconds(2)});
  engine.use_table(world.modulo);
  const auto queue = engine.open_queue();
  run_batches(*queue, world, 3, 64);
  EXPECT_THAT(engine.notes(), Contains(HasSubstr("3 batches in ")));
  EXPECT_THAT(engine.notes(), Contains(HasSubstr("waiting for them up to 2000 us")));
}

TEST(CudaEngineOnTwoGpus, SpreadsItsQueuesAndMirrorsTables) {
  FakeWorld world;
  ChangingTable table;
  CudaEngine engine(world.backend(2), LaunchOptions{});
  engine.use_table(table.table());
  ShaderQueue first(engine, world.lookup_shader(), table.table());
  ShaderQueue second(engine, world.lookup_shader(), table.table());
  EXPECT_EQ(world.faults.opened, 2);
  table.check_during(first, [&] {
    for (std::uint16_t i = 1; i < 400; ++i) {
      table.change(i);
      if (i % 50 == 0) table.check(second);
    }
  });
  EXPECT_EQ(table.wrong_state, 0U);
  EXPECT_EQ(table.mixed, 0U);
  EXPECT_GT(world.faults.launches[0], 0);
  EXPECT_GT(world.faults.launches[1], 0);
  EXPECT_THAT(engine.notes(), Contains(HasSubstr("GPU 0: fake")));
  EXPECT_THAT(engine.notes(), Contains(HasSubstr("GPU 1: fake")));
}

TEST(CudaEngineOnTwoGpus, WorksOnOneWhileTheOtherIsAbsent) {
  FakeWorld world;
  world.faults.absent_device = 0;
  CudaEngine engine(world.backend(2), LaunchOptions{});
  engine.use_table(world.modulo);
  const std::vector<std::uint32_t> in = world.numbers(5'000);
  for (int i = 0; i < 2; ++i) {
    ShaderQueue queue(engine, world.modulo_shader(), world.modulo);
    FakeWorld::expect_right(queue, in, 64);
  }
  EXPECT_EQ(world.faults.launches[0], 0);
  EXPECT_GT(world.faults.launches[1], 0);
  EXPECT_THAT(engine.notes(), Contains(HasSubstr("GPU 0: lost: there is none")));
  EXPECT_EQ(engine.calibration_key(), "fake") << "what was measured holds for a GPU like the other one";
}

TEST(CudaEngine, OpensNoDeviceBeforeItsFirstQueue) {
  FakeWorld world;
  CudaEngine engine(world.backend(), LaunchOptions{});
  engine.use_table(world.modulo);
  EXPECT_EQ(world.faults.opened, 0);
  EXPECT_TRUE(engine.notes().empty());
  const auto queue = engine.open_queue();
  EXPECT_EQ(world.faults.opened, 1);
  EXPECT_THAT(engine.notes(), Contains("fake: 4 streams, up to 32 batches a launch, long ones copied"));
}

TEST(CudaEngine, EndsWithWorkInFlight) {
  FakeWorld world;
  for (int i = 0; i < 20; ++i) {
    CudaEngine engine(world.backend(), LaunchOptions{});
    engine.use_table(world.modulo);
    const std::vector<std::uint32_t> in = world.numbers(64);
    std::vector<std::uint16_t> out(in.size());
    std::vector<Batch> batches(100);
    const auto queue = engine.open_queue();
    for (Batch& batch : batches) {
      batch = world.modulo_batch(in, out);
      ASSERT_EQ(queue->submit(batch), EngineQueue::Submitted::queued);
    }
  }
  EXPECT_EQ(world.faults.opened, world.faults.destroyed);
}

TEST(CudaEngine, EndsWhileOwnersGoOnChangingTheirTables) {
  for (int i = 0; i < 20; ++i) {
    FakeWorld world;
    ChangingTable table;
    auto engine = std::make_unique<CudaEngine>(world.backend(), LaunchOptions{});
    engine->use_table(table.table());
    engine->open_queue();
    table.change_during([&engine] { engine.reset(); });
  }
}

TEST(CudaEngine, SaysThatAQueueIsFull) {
  FakeWorld world;
  CudaEngine engine(world.backend(), LaunchOptions{});
  engine.use_table(world.modulo);
  const std::vector<std::uint32_t> in = world.numbers(64);
  std::vector<std::uint16_t> out(in.size());
  std::vector<Batch> batches(1'000, world.modulo_batch(in, out));
  const auto queue = engine.open_queue();
  std::size_t taken = 0;
  while (queue->submit(batches[taken]) == EngineQueue::Submitted::queued) ++taken;
  EXPECT_GE(taken, 100U);
  EXPECT_EQ(queue->submit(batches[taken]), EngineQueue::Submitted::full);
  for (std::size_t i = 0; i < taken;) {
    const Batch* const batch = queue->poll();
    if (batch == nullptr) continue;
    ASSERT_EQ(batch, &batches[i++]);
  }
  EXPECT_EQ(queue->poll(), nullptr);
}

}  // namespace
}  // namespace penumbra::cuda
