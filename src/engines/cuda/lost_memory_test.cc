// SPDX-License-Identifier: Apache-2.0
//
// Tests the memory that a caller shares with a GPU that fails: which writes it may still get, and how long it is kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>

#include "cuda/engine.h"
#include "cuda/eventually_test.h"
#include "cuda/fake_world_test.h"
#include "penumbra/engine.h"

namespace penumbra::cuda {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

LaunchOptions patient(Access access) {
  return {.constraints = {.access = access},
          .patience = std::chrono::minutes(1),
          .retry_after = std::chrono::milliseconds(20)};
}

class CudaLostByAnother : public testing::TestWithParam<Access> {};

TEST_P(CudaLostByAnother, AnswersWhatIsInFlightAndWritesNoColumnAfterwards) {
  constexpr std::size_t kItems = 150'000;  // Several parts.
  FakeWorld world;
  SharedColumns columns(kItems);
  CudaEngine engine(world.backend(), patient(GetParam()));
  engine.use_table(world.modulo);
  const auto queue = engine.open_queue();
  queue->share(columns.memory());
  Batch batch = columns.batch(world);
  const auto comes_back = [&] { return eventually([&] { return queue->poll() == &batch; }); };
  ASSERT_EQ(queue->submit(batch), EngineQueue::Submitted::queued);
  ASSERT_TRUE(comes_back());  // The GPU has the table.
  columns.clear();
  world.faults.stuck = true;
  const int launches = world.faults.launches[0];
  ASSERT_EQ(queue->submit(batch), EngineQueue::Submitted::queued);
  ASSERT_TRUE(eventually([&] { return world.faults.launches[0] > launches; }));
  world.faults.losses[0].tell("another's reason");
  ASSERT_TRUE(eventually([&] { return world.faults.abandoned == 1; }));
  world.faults.stuck = false;
  ASSERT_TRUE(comes_back());
  columns.expect_answers(kItems);
  columns.clear();
  world.faults.finish_abandoned();
  columns.expect_answers(0);
}

INSTANTIATE_TEST_SUITE_P(OnThe, CudaLostByAnother, testing::Values(Access::mapped, Access::copied),
                         [](const auto& each) { return each.param == Access::mapped ? "HostsMemory" : "GpusMemory"; });

TEST(CudaLostMemory, OfAQueueThatIsGoneIsNotSharedAnew) {
  FakeWorld world;
  CudaEngine engine(world.backend(), patient(Access::by_length));
  const auto queue = engine.open_queue();
  const int shared = world.faults.shared;
  auto other = engine.open_queue();
  ASSERT_EQ(world.faults.shared, shared + 1);
  world.faults.fails_to_mark = true;
  other.reset();
  ASSERT_TRUE(eventually([&] { return world.faults.opened == 2; }));
  ASSERT_TRUE(eventually([&] { return testing::Value(engine.notes(), Not(Contains(HasSubstr("lost:")))); }));
  EXPECT_EQ(world.faults.shared, shared);
}

}  // namespace
}  // namespace penumbra::cuda
