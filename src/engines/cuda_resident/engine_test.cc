// SPDX-License-Identifier: Apache-2.0
//
// Tests the engine on a fake kernel: batches of all sizes, workers that come and go, tables that change.
#include "cuda_resident/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/sanitizer_scale.h"
#include "cuda/fake_world_test.h"
#include "cuda_resident/fake_resident_test.h"
#include "cuda_resident/queue.h"
#include "engines/conformance.h"
#include "engines/waiting_testing.h"

namespace penumbra::cuda_resident {
namespace {

using conformance::ShaderQueue;
using testing::Contains;
using testing::HasSubstr;

std::size_t batches_by_kernel(const Engine& engine) {
  for (const auto& line : engine.notes()) {
    if (line.ends_with("batches by the kernel")) return std::stoul(line);
  }
  return 0;
}

/// Returns true if the shader `echo` answered every item.
bool is_right(const std::vector<std::uint32_t>& in, const std::vector<std::uint16_t>& out) {
  return std::ranges::equal(in, out,
                            [](std::uint32_t x, std::uint16_t y) { return x % cuda::FakeWorld::kModulus == y; });
}

class ResidentOnAFake : public testing::TestWithParam<std::uint32_t> {
 protected:
  /// Runs `items` numbers in batches of `batch_items`. Returns true if all answers are right.
  bool runs(ShaderQueue& queue, std::size_t items, std::uint32_t batch_items) const {
    const std::vector<std::uint32_t> in = cuda::FakeWorld::numbers(items);
    std::vector<std::uint16_t> out(items, 0xFFFF);
    queue({in.data()}, {out.data()}, items, batch_items);
    return is_right(in, out);
  }
  ResidentOptions options() const { return {.slots = GetParam(), .blocks = kMostSlots}; }
  cuda::FakeWorld world_;
  KernelFaults faults_;
};

/// The groups of all other slots must come to rest.
TEST_P(ResidentOnAFake, HasFewGroupsAnswerOneBatchAtATime) {
  ResidentEngine engine(fake_backend(world_, faults_), options());
  engine.use_table(world_.modulo);
  ShaderQueue queue(engine, world_.modulo_shader(), world_.modulo);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(runs(queue, 32, 32));
  const auto groups = std::ranges::count_if(faults_.answers, [](const auto& answers) { return answers > 0; });
  EXPECT_GE(groups, 1);
  EXPECT_LE(groups, 1 + FreeSlots::kAside);
}

TEST_P(ResidentOnAFake, AnswersBatchesOfAnySizeInOrder) {
  ResidentEngine engine(fake_backend(world_, faults_), options());
  engine.use_table(world_.modulo);
  ShaderQueue queue(engine, world_.modulo_shader(), world_.modulo);
  for (const std::uint32_t batch_items : {1U, 2U, 31U, 32U, 33U, 64U, 150U, 500U, 5'000U, 60'000U}) {
    EXPECT_TRUE(runs(queue, std::min(60'000U, 500 * batch_items), batch_items)) << batch_items;
  }
  EXPECT_TRUE(runs(queue, 1'000'000, 1'000'000)) << "too large for the staging memory";
  EXPECT_GT(faults_.elsewhere, 0);
  EXPECT_GT(batches_by_kernel(engine), 100U);
}

TEST_P(ResidentOnAFake, WakesAServiceThatWaits) {
  ResidentEngine engine(fake_backend(world_, faults_), options());
  engine.use_table(world_.modulo);
  conformance::expect_that_waiting_returns_batches(engine, world_.modulo, cuda::FakeWorld::kModulus);
}

TEST_P(ResidentOnAFake, WakesAServiceOnlyWhenABatchIsDone) {
  ResidentEngine engine(fake_backend(world_, faults_), options());
  engine.use_table(world_.modulo);
  const auto queue = engine.open_queue();
  const std::vector<std::uint32_t> in = cuda::FakeWorld::numbers(64);
  std::vector<std::uint16_t> out(in.size());
  Batch batch = world_.modulo_batch(in, out);
  faults_.slow = true;
  ASSERT_EQ(queue->submit(batch), EngineQueue::Submitted::queued);
  const int descriptor = queue->wake_descriptor();
  ASSERT_GE(descriptor, 0);
  EXPECT_EQ(queue->poll(), nullptr);
  EXPECT_FALSE(conformance::is_readable(descriptor, std::chrono::milliseconds(5)));
  faults_.slow = false;
  EXPECT_TRUE(conformance::is_readable(descriptor, conformance::kLongWait));
  EXPECT_EQ(queue->wait(conformance::kLongWait), &batch);
}

/// Runs batches in slots, in parts outside slots and on the CPU at the same time, while the kernel ends once by itself.
TEST_P(ResidentOnAFake, AnswersBatchesOfMixedSizesInOrder) {
  ResidentEngine engine(fake_backend(world_, faults_), options());
  engine.use_table(world_.modulo);
  const auto queue = engine.open_queue();
  constexpr std::uint32_t kSizes[] = {1, 32, 64, 500, 5'000, 60'000};
  const std::vector<std::uint32_t> in = cuda::FakeWorld::numbers(60'000);
  cuda::InOrder batches(*queue, [&in](const cuda::Asked& asked) {
    ASSERT_TRUE(is_right({in.begin(), in.begin() + asked.batch.items}, asked.out));
  });
  std::mt19937 random(3);
  for (int i = 0; i < 600; ++i) {
    if (i == 300) faults_.ends = true;
    cuda::Asked& next = batches.next();
    const std::uint32_t items = kSizes[random() % std::size(kSizes)];
    next.out.assign(items, 0xFFFF);
    next.batch = world_.modulo_batch(in, next.out);
    next.batch.items = items;
    ASSERT_NO_FATAL_FAILURE(batches.submit());
  }
  ASSERT_NO_FATAL_FAILURE(batches.finish());
  EXPECT_GT(faults_.elsewhere, 0);
  EXPECT_GT(batches_by_kernel(engine), 0U);
}

TEST_P(ResidentOnAFake, ServesWhicheverShaderABatchNames) {
  cuda::ChangingTable routes;
  ResidentEngine engine(fake_backend(world_, faults_), options());
  engine.use_table(world_.modulo);
  engine.use_table(routes.table());
  cuda::check_by_turns(engine, world_, routes);
  EXPECT_GT(batches_by_kernel(engine), 0U);
}

TEST_P(ResidentOnAFake, ServesWorkersThatComeAndGo) {
  ResidentEngine engine(fake_backend(world_, faults_), options());
  engine.use_table(world_.modulo);
  std::atomic<bool> over{false}, is_wrong{false};
  ShaderQueue first(engine, world_.modulo_shader(), world_.modulo);
  std::thread worker([&] {
    while (!over) is_wrong = is_wrong || !runs(first, 2'000, 32);
  });
  for (int round = 0; round < 10; ++round) {
    ShaderQueue second(engine, world_.modulo_shader(), world_.modulo),
        third(engine, world_.modulo_shader(), world_.modulo);
    EXPECT_TRUE(runs(second, 2'000, 32));
    EXPECT_TRUE(runs(third, 2'000, 50));
  }
  over = true;
  worker.join();
  EXPECT_FALSE(is_wrong);
}

TEST_P(ResidentOnAFake, LooksUpInATableWhileItChanges) {
  cuda::ChangingTable table;
  ResidentEngine engine(fake_backend(world_, faults_), options());
  engine.use_table(table.table());
  ShaderQueue queue(engine, world_.lookup_shader(), table.table());
  table.check_during(queue, [&] {
    for (std::uint16_t i = 1; i < 4'000 / kSanitizerScale; ++i) table.change(i);
  });
  table.check(queue);
  EXPECT_EQ(table.wrong_state, 0U);
}

TEST_P(ResidentOnAFake, LooksUpInATableThatIsLoadedAnew) {
  cuda::ChangingTable table;
  ResidentEngine engine(fake_backend(world_, faults_), options());
  engine.use_table(table.table());
  ShaderQueue queue(engine, world_.lookup_shader(), table.table());
  table.check_during(queue, [&] { table.load_and_change(8, 20); });
  EXPECT_EQ(table.wrong_state, 0U);
}

INSTANTIATE_TEST_SUITE_P(Slots, ResidentOnAFake, testing::Values(1, 2, 16, 144));

class Resident : public testing::Test {
 protected:
  cuda::FakeWorld world_;
  KernelFaults faults_;
};

TEST_F(Resident, LeavesSharedColumnsWhereTheyAre) {
  constexpr std::size_t kItems = 2'000'000;  // More than the staging memory holds.
  ResidentEngine engine(fake_backend(world_, faults_), ResidentOptions{});
  engine.use_table(world_.modulo);
  const auto memory = std::make_shared<HugeMemory>(kItems * (sizeof(std::uint32_t) + sizeof(std::uint16_t)));
  auto* const in = reinterpret_cast<std::uint32_t*>(memory->data());
  auto* const out = reinterpret_cast<std::uint16_t*>(in + kItems);
  std::ranges::copy(cuda::FakeWorld::numbers(kItems), in);
  ShaderQueue queue(engine, world_.modulo_shader(), world_.modulo);
  queue.share(memory);
  queue({in}, {out}, kItems, kItems);
  EXPECT_GT(faults_.elsewhere, 0) << "it ran on the CPU";
  for (std::size_t i = 0; i < kItems; ++i) ASSERT_EQ(out[i], in[i] % cuda::FakeWorld::kModulus) << i;
}

/// Runs batches with the view, which the first batch of a slot has, and without it. Columns then start at any place in
/// the slot's first lines.
TEST_F(Resident, PacksWideViewsAndSeveralColumns) {
  constexpr std::uint32_t kMost = 50, kBatches = 8;
  cuda::WideView view{};
  std::iota(view.addends.begin(), view.addends.end(), 1'000'000);
  Table table{"wide"};
  table.publish(view, {});
  ResidentEngine engine(fake_backend(world_, faults_),
                        ResidentOptions{.slots = 2, .patience = std::chrono::minutes(1)});
  engine.use_table(table);
  std::array<std::uint8_t, kMost> which{};
  std::array<std::uint64_t, kMost> numbers{}, sums{};
  std::mt19937_64 random(7);
  for (std::uint32_t items = 1; items <= kMost; ++items) {
    ShaderQueue queue(engine, world_.wide_shader(), table);
    for (std::uint32_t batch = 0; batch < kBatches; ++batch) {
      for (std::uint32_t i = 0; i < items; ++i) {
        which.at(i) = static_cast<std::uint8_t>(random());
        numbers.at(i) = random();
      }
      sums.fill(0);
      queue({which.data(), numbers.data()}, {sums.data()}, items, items);
      for (std::uint32_t i = 0; i < items; ++i) {
        ASSERT_EQ(sums.at(i), numbers.at(i) + view.addends.at(which.at(i) % view.addends.size())) << items;
      }
    }
  }
  EXPECT_EQ(batches_by_kernel(engine), kBatches * kMost);
}

/// If a slot's next batch is far away, its group leaves the bus to others.
TEST_F(Resident, HasGroupsReadOnePieceWhereManyBatchesAreInFlight) {
  constexpr std::uint32_t kSlots = 144, kUsual = 120;
  ResidentEngine engine(fake_backend(world_, faults_),
                        ResidentOptions{.slots = kSlots, .patience = std::chrono::minutes(1)});
  engine.use_table(world_.modulo);
  const auto queue = engine.open_queue();
  const std::vector<std::uint32_t> in = cuda::FakeWorld::numbers(32);
  cuda::InOrder batches(*queue, [&in](const cuda::Asked& asked) { ASSERT_TRUE(is_right(in, asked.out)); });
  for (const std::uint32_t in_flight : {kUsual, kSlots}) {
    faults_.slow = true;
    for (std::uint32_t i = 0; i < in_flight; ++i) {
      cuda::Asked& next = batches.next();
      next.out.assign(in.size(), 0xFFFF);
      next.batch = world_.modulo_batch(in, next.out);
      ASSERT_NO_FATAL_FAILURE(batches.submit());
    }
    faults_.slow = false;
    ASSERT_NO_FATAL_FAILURE(batches.finish());
    EXPECT_EQ(faults_.patient, in_flight - kUsual);
  }
}

TEST_F(Resident, KeepsItsNumbersApartWhenTheyBeginAnew) {
  ResidentEngine engine(fake_backend(world_, faults_), ResidentOptions{.slots = 3, .before_first = UINT32_MAX - 5});
  engine.use_table(world_.modulo);
  const std::vector<std::uint32_t> in = cuda::FakeWorld::numbers(2'000);
  std::vector<std::uint16_t> out(in.size(), 0xFFFF);
  ShaderQueue queue(engine, world_.modulo_shader(), world_.modulo);
  queue({in.data()}, {out.data()}, in.size(), 40);
  EXPECT_TRUE(is_right(in, out));
  EXPECT_EQ(batches_by_kernel(engine), 50U);
}

TEST_F(Resident, OpensNoDeviceBeforeItsFirstQueue) {
  ResidentEngine engine(fake_backend(world_, faults_), ResidentOptions{});
  engine.use_table(world_.modulo);
  EXPECT_EQ(world_.faults.opened, 0);
  EXPECT_TRUE(engine.notes().empty());
  const auto queue = engine.open_queue();
  EXPECT_EQ(world_.faults.opened, 1);
  EXPECT_THAT(engine.notes(), Contains("fake: 16 slots, groups of 128 threads"));
}

TEST_F(Resident, TakesNoMoreBlocksThanItIsGiven) {
  ResidentEngine engine(fake_backend(world_, faults_), ResidentOptions{.slots = 16, .blocks = 40});
  engine.use_table(world_.modulo);
  const auto first = engine.open_queue();
  auto second = engine.open_queue(), third = engine.open_queue();
  EXPECT_THAT(engine.notes(), Contains(HasSubstr("40 slots")));
  EXPECT_THAT([&] { engine.open_queue(); },
              testing::ThrowsMessage<std::runtime_error>(HasSubstr("all 40 blocks of the GPU that it may take")));
  second.reset();
  ShaderQueue queue(engine, world_.modulo_shader(), world_.modulo);
  const std::vector<std::uint32_t> in = cuda::FakeWorld::numbers(1000);
  cuda::FakeWorld::expect_right(queue, in, 64);
  EXPECT_GT(batches_by_kernel(engine), 0U);
}

TEST_F(Resident, TakesNoMoreBlocksThanTheGpuHolds) {
  faults_.holds = 20;
  ResidentEngine engine(fake_backend(world_, faults_), ResidentOptions{.slots = 16, .blocks = 40});
  engine.use_table(world_.modulo);
  const auto first = engine.open_queue();
  {
    ShaderQueue queue(engine, world_.modulo_shader(), world_.modulo);
    EXPECT_THAT(engine.notes(), Contains(HasSubstr("20 slots")));
    const std::vector<std::uint32_t> in = cuda::FakeWorld::numbers(1000);
    cuda::FakeWorld::expect_right(queue, in, 64);
    EXPECT_THAT([&] { engine.open_queue(); }, testing::ThrowsMessage<std::runtime_error>(testing::AllOf(
                                                  HasSubstr("all 20 blocks of the GPU"), Not(HasSubstr("blocks=")))));
  }
  EXPECT_GT(batches_by_kernel(engine), 0U);
}

TEST_F(Resident, EndsWithWorkInFlight) {
  const std::vector<std::uint32_t> in = cuda::FakeWorld::numbers(64);
  std::vector<std::uint16_t> out(in.size());
  for (int i = 0; i < 20; ++i) {
    ResidentEngine engine(fake_backend(world_, faults_), ResidentOptions{});
    engine.use_table(world_.modulo);
    const auto queue = engine.open_queue();
    std::vector<Batch> batches(16, world_.modulo_batch(in, out));
    for (Batch& batch : batches) ASSERT_NE(queue->submit(batch), EngineQueue::Submitted::full);
  }
  EXPECT_EQ(world_.faults.opened, world_.faults.destroyed);
}

TEST_F(Resident, EndsWhileOwnersGoOnChangingTheirTables) {
  for (int i = 0; i < 5; ++i) {
    cuda::ChangingTable table;
    auto engine = std::make_unique<ResidentEngine>(fake_backend(world_, faults_), ResidentOptions{});
    engine->use_table(table.table());
    engine->open_queue();
    table.change_during([&engine] { engine.reset(); });
  }
}

TEST_F(Resident, MakesWayForCallsThatWaitForAllKernels) {
  ResidentEngine engine(fake_backend(world_, faults_), ResidentOptions{});
  engine.use_table(world_.modulo);
  const std::vector<std::uint32_t> in = cuda::FakeWorld::numbers(5'000);
  std::vector<std::uint16_t> out(in.size(), 0xFFFF);
  ShaderQueue queue(engine, world_.modulo_shader(), world_.modulo);
  std::atomic<bool> over{false};
  std::thread other([&] {
    for (int i = 0; i < 50; ++i) {
      const cuda::KernelPause pause;
      EXPECT_FALSE(cuda::ResidentKernel::is_allowed());
    }
    over = true;
  });
  while (!over) queue({in.data()}, {out.data()}, in.size(), 32);
  other.join();
  EXPECT_TRUE(is_right(in, out));
  EXPECT_GT(faults_.started, 1);
}

class ResidentOnTwoGpus : public Resident {};

TEST_F(ResidentOnTwoGpus, SpreadsItsQueuesAndHasTablesOnBoth) {
  cuda::ChangingTable table;
  ResidentEngine engine(fake_backend(world_, faults_, 2), ResidentOptions{});
  engine.use_table(table.table());
  EXPECT_EQ(world_.faults.opened, 0);
  ShaderQueue first(engine, world_.lookup_shader(), table.table());
  EXPECT_EQ(world_.faults.opened, 1);
  ShaderQueue second(engine, world_.lookup_shader(), table.table());
  EXPECT_EQ(world_.faults.opened, 2);
  table.check_during(first, [&] {
    for (std::uint16_t i = 1; i < 400 / kSanitizerScale; ++i) {
      table.change(i);
      if (i % 20 == 0) table.check(second);
    }
  });
  EXPECT_EQ(table.wrong_state, 0U);
  EXPECT_THAT(engine.notes(), Contains(HasSubstr("GPU 0: fake")));
  EXPECT_THAT(engine.notes(), Contains(HasSubstr("GPU 1: fake")));
  EXPECT_EQ(engine.calibration_key(), "fake");
}

TEST_F(ResidentOnTwoGpus, WorksOnOneWhileTheOtherIsAbsent) {
  world_.faults.absent_device = 0;
  ResidentEngine engine(fake_backend(world_, faults_, 2), ResidentOptions{});
  engine.use_table(world_.modulo);
  const std::vector<std::uint32_t> in = cuda::FakeWorld::numbers(5'000);
  for (int i = 0; i < 2; ++i) {
    ShaderQueue queue(engine, world_.modulo_shader(), world_.modulo);
    cuda::FakeWorld::expect_right(queue, in, 64);
  }
  EXPECT_THAT(engine.notes(), Contains(HasSubstr("GPU 0: lost: there is none")));
  EXPECT_THAT(engine.notes(), Contains(HasSubstr("GPU 1: fake")));
}

}  // namespace
}  // namespace penumbra::cuda_resident
