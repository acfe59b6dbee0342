// SPDX-License-Identifier: Apache-2.0
//
// Tests the memory that a caller shares with a GPU that fails: which writes it may still get, and how long it is kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>

#include "cuda/eventually_test.h"
#include "cuda/fake_world_test.h"
#include "cuda_resident/engine.h"
#include "cuda_resident/fake_resident_test.h"
#include "penumbra/engine.h"

namespace penumbra::cuda_resident {
namespace {

using cuda::eventually;
using std::chrono::milliseconds;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr ResidentOptions kPatientWithOneSlot{
    .slots = 1, .patience = std::chrono::minutes(1), .retry_after = milliseconds(20)};

TEST(ResidentLostByAnother, AnswersWhatStandsInSlotsAndWritesNoColumnAfterwards) {
  constexpr std::size_t kItems = 2'000;  // One part.
  cuda::FakeWorld world;
  KernelFaults kernel;
  cuda::SharedColumns columns(kItems);
  ResidentEngine engine(fake_backend(world, kernel), kPatientWithOneSlot);
  engine.use_table(world.modulo);
  const auto queue = engine.open_queue();
  queue->share(columns.memory());
  Batch batch = columns.batch(world);
  columns.clear();
  kernel.slow = true;
  ASSERT_EQ(queue->submit(batch), EngineQueue::Submitted::queued);
  ASSERT_TRUE(eventually([&] { return kernel.answers[0] > 0; }));
  world.faults.losses[0].tell("another's reason");
  ASSERT_TRUE(eventually([&] { return kernel.abandoned == 1; }));
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(queue->poll(), nullptr) << "a group is still at it";
    std::this_thread::sleep_for(milliseconds(1));
  }
  kernel.slow = false;
  ASSERT_TRUE(eventually([&] { return queue->poll() == &batch; }));
  columns.expect_answers(kItems);
  EXPECT_THAT(engine.notes(), Contains("1 batches by the kernel"));
  columns.clear();
  ASSERT_TRUE(eventually([&] { return kernel.running == 0; })) << "nobody told the kernel to end";
  columns.expect_answers(0);
}

TEST(ResidentLostMemory, OfAQueueThatIsGoneIsNotSharedAnew) {
  cuda::FakeWorld world;
  KernelFaults kernel;
  ResidentEngine engine(fake_backend(world, kernel), kPatientWithOneSlot);
  const auto queue = engine.open_queue();
  const int shared = world.faults.shared;
  auto other = engine.open_queue();
  ASSERT_EQ(world.faults.shared, shared + 1);
  kernel.telling->fails = 1;
  other.reset();
  ASSERT_TRUE(eventually([&] { return world.faults.opened == 2; }));
  ASSERT_TRUE(eventually([&] { return testing::Value(engine.notes(), Not(Contains(HasSubstr("lost:")))); }));
  EXPECT_EQ(world.faults.shared, shared);
}

}  // namespace
}  // namespace penumbra::cuda_resident
