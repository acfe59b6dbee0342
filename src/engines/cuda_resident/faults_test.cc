// SPDX-License-Identifier: Apache-2.0
//
// Tests the engine when its kernel fails: every batch is still answered, and the notes give the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "cuda/eventually_test.h"
#include "cuda/kernel_pause.h"
#include "cuda_resident/engine.h"
#include "cuda_resident/fake_resident_test.h"
#include "cuda_resident/queue.h"
#include "engines/conformance.h"

namespace penumbra::cuda_resident {
namespace {

using conformance::ShaderQueue;
using std::chrono::milliseconds;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class ResidentFaults : public testing::Test {
 protected:
  /// On a busy machine a thread may wait for long, so only tests that expect the GPU to be given up are impatient.
  explicit ResidentFaults(milliseconds patience = std::chrono::minutes(1))
      : engine_(fake_backend(world_, faults_), ResidentOptions{.patience = patience, .retry_after = milliseconds(20)}) {
    engine_.use_table(world_.modulo);
  }

  /// Repeats `what` until `until` holds, at most a minute.
  void repeat(const std::function<void()>& what, const std::function<bool()>& until) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    do {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << notes();
      ASSERT_NO_FATAL_FAILURE(what());
    } while (!until());
  }
  /// Runs batches until `until` holds; each must be answered.
  void run(const std::function<bool()>& until) {
    repeat([this] { run_batches(queue(), in_.size(), 64); }, until);
  }
  /// Runs other numbers each time, because old answers may still be in the staging memory.
  void run_batches(ShaderQueue& queue, std::size_t items, std::uint32_t batch_items) {
    const std::vector<std::uint32_t> in = cuda::FakeWorld::numbers(items, ++seed_);
    cuda::FakeWorld::expect_right(queue, in, batch_items);
  }
  ShaderQueue& queue() {
    if (!queue_) queue_ = std::make_unique<ShaderQueue>(engine_, world_.modulo_shader(), world_.modulo);
    return *queue_;
  }
  std::string notes() const {
    std::string text;
    for (const auto& line : engine_.notes()) text += line + "\n";
    return text;
  }
  std::size_t by_kernel() const {
    for (const auto& line : engine_.notes()) {
      if (line.ends_with("batches by the kernel")) return std::stoul(line);
    }
    return 0;
  }
  void run_until_the_kernel_answers() {
    run([this, before = by_kernel()] { return by_kernel() > before; });
  }

  cuda::FakeWorld world_;
  KernelFaults faults_;
  cuda::ChangingTable table_;
  ResidentEngine engine_;
  std::unique_ptr<ShaderQueue> queue_;
  const std::vector<std::uint32_t> in_ = cuda::FakeWorld::numbers(3'000);

 private:
  unsigned seed_ = 0;
};

class ImpatientResidentFaults : public ResidentFaults {
 protected:
  ImpatientResidentFaults() : ResidentFaults(milliseconds(300)) {}
};

/// Faults that stop the groups for good.
class ResidentStuck : public ImpatientResidentFaults, public testing::WithParamInterface<bool> {};

TEST_P(ResidentStuck, IsNoticedAndLeavesTheWorkToTheCpu) {
  run_until_the_kernel_answers();
  (GetParam() ? faults_.mute : faults_.dead) = true;
  run([this] { return faults_.abandoned == 1; });
  EXPECT_THAT(notes(), HasSubstr(GetParam() ? "has not answered for 300 ms" : "has shown no life for 300 ms"));
  EXPECT_THAT(notes(), HasSubstr("batches came back from a lost GPU"));
  run([this] { return faults_.telling->is_done.load(); });  // The kernel may only be late.
  EXPECT_THAT(notes(), HasSubstr("shaders run on the CPU\n"));
  std::this_thread::sleep_for(milliseconds(100));
  run([] { return true; });
  EXPECT_EQ(world_.faults.opened, 1) << "there is no coming back within the process";
}

TEST_F(ImpatientResidentFaults, AServiceThatWaitsGetsItsBatchFromTheCpu) {
  const auto queue = engine_.open_queue();
  const std::vector<std::uint32_t> in = cuda::FakeWorld::numbers(64);
  std::vector<std::uint16_t> out(in.size(), 0xFFFF);
  Batch batch = world_.modulo_batch(in, out);
  faults_.mute = true;
  ASSERT_EQ(queue->submit(batch), EngineQueue::Submitted::queued);
  EXPECT_EQ(queue->wait(std::chrono::minutes(5)), &batch);
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], in[i] % cuda::FakeWorld::kModulus);
}

TEST_F(ImpatientResidentFaults, ABatchOfWhichOnePartComesBackIsCountedAsGivenUp) {
  ResidentEngine engine(fake_backend(world_, faults_),
                        ResidentOptions{.slots = 4, .patience = milliseconds(300), .retry_after = milliseconds(20)});
  engine.use_table(world_.modulo);
  ShaderQueue queue(engine, world_.modulo_shader(), world_.modulo);
  constexpr std::uint32_t kItems = 4 * ResidentQueue::kLeastPart;
  const auto run_batch = [&] { run_batches(queue, kItems, kItems); };
  repeat(run_batch, [this] { return faults_.elsewhere >= 4; });  // Each of the four parts has the same slot every time.
  faults_.mute_group = 0;
  const int before = faults_.elsewhere;
  ASSERT_NO_FATAL_FAILURE(run_batch());
  EXPECT_EQ(faults_.elsewhere, before + 3) << "the last part is answered";
  EXPECT_THAT(engine.notes(), Contains("1 batches came back from a lost GPU, or from one at a pause, for the CPU"));
}

INSTANTIATE_TEST_SUITE_P(How, ResidentStuck, testing::Bool(),
                         [](const auto& each) { return each.param ? "Mute" : "Dead"; });

TEST_F(ImpatientResidentFaults, AnIdleKernelThatDiesIsNoticed) {
  run_until_the_kernel_answers();
  faults_.dead = true;
  ASSERT_TRUE(cuda::eventually([this] { return faults_.abandoned > 0; }));
  EXPECT_THAT(notes(), HasSubstr("has shown no life"));
}

TEST_F(ImpatientResidentFaults, ADriverThatDoesNotComeBackKeepsNobodyWaiting) {
  run_until_the_kernel_answers();
  faults_.telling->hangs = true;
  faults_.dead = true;
  run([this] { return faults_.abandoned == 1; });
  {
    const cuda::KernelPause others_call;
  }
  queue_.reset();
  run([] { return true; });
  EXPECT_FALSE(faults_.telling->is_done);
  faults_.telling->hangs = false;
}

/// Its groups have ended, so batches in their slots must not be waited for again.
TEST_F(ImpatientResidentFaults, AKernelThatDoesNotEndWhenItIsToldToIsNotWaitedForTwice) {
  run_until_the_kernel_answers();
  faults_.stays = true;
  std::thread other([] { const cuda::KernelPause others_call; });
  const bool is_told = cuda::eventually([this] { return faults_.telling->is_done.load(); });
  run([this] { return faults_.abandoned == 1; });
  other.join();
  run([] { return true; });
  EXPECT_TRUE(is_told);
  EXPECT_EQ(faults_.awaited, 0);
  EXPECT_THAT(notes(), HasSubstr("the kernel has not ended in 300 ms"));
}

TEST_F(ImpatientResidentFaults, AKernelPauseThatDoesNotEndKeepsNobodyWaiting) {
  run_until_the_kernel_answers();
  {
    const cuda::KernelPause others_call;
    run([this] { return notes().find("the kernel has stood still for 300 ms") != std::string::npos; });
  }
  run_until_the_kernel_answers();
  EXPECT_EQ(world_.faults.opened, 1);
  EXPECT_THAT(notes(), Not(HasSubstr("stood still")));
}

TEST_F(ResidentFaults, LateAnswersAreStillTheGpus) {
  faults_.late_microseconds = 2'000;
  run_until_the_kernel_answers();
  EXPECT_THAT(notes(), Not(HasSubstr("lost")));
}

TEST_F(ResidentFaults, AKernelThatEndsIsStartedAnewOnWipedSlots) {
  for (int round = 1; round <= 3; ++round) {
    run_until_the_kernel_answers();
    faults_.ends = true;
    run([&] { return world_.faults.opened == round + 1; });
    run_until_the_kernel_answers();
    EXPECT_THAT(notes(), Not(HasSubstr("lost:")));
  }
  EXPECT_EQ(faults_.abandoned, 0);
}

/// Under `auto`, workers may have no batch for the GPU for a long time.
TEST_F(ResidentFaults, AThreadWhoseWorkersWipeNoSlotsSleeps) {
  run_until_the_kernel_answers();
  faults_.ends = true;
  ASSERT_TRUE(cuda::eventually([this] { return world_.faults.opened > 1; }));
  std::uint64_t turns = 0;
  const auto take_some_time = [&] {
    const std::uint64_t before = world_.faults.turns;
    std::this_thread::sleep_for(milliseconds(200));
    turns = world_.faults.turns - before;
  };
  repeat(take_some_time, [&] { return turns < 200; });
  run_until_the_kernel_answers();
}

/// A view that a worker knows from before the device was opened again refers to memory that no longer exists.
TEST_F(ResidentFaults, AWorkerThatWasIdleMeanwhileLooksUpInTheNewCopy) {
  engine_.use_table(table_.table());
  ShaderQueue idle(engine_, world_.lookup_shader(), table_.table());
  const auto check_until_the_kernel_answers = [&] {
    repeat([&] { table_.check(idle); }, [this, before = by_kernel()] { return by_kernel() > before; });
  };
  check_until_the_kernel_answers();
  for (int i = 0; i < 2; ++i) {
    const int opened = world_.faults.opened;
    run([&] {
      faults_.ends =
          world_.faults.opened == opened;  // Repeats the request: a kernel that is just paused ends without effect.
      return world_.faults.opened > opened;
    });
    faults_.ends = false;
    run_until_the_kernel_answers();
  }
  check_until_the_kernel_answers();
  EXPECT_EQ(table_.wrong_state, 0U);
}

TEST_F(ResidentFaults, ARefusedKernelIsTriedAgain) {
  faults_.refuses = true;
  run([] { return true; });
  EXPECT_THAT(notes(), HasSubstr("lost: an injected refusal; shaders run on the CPU until the GPU is back"));
  faults_.refuses = false;
  run_until_the_kernel_answers();
  EXPECT_THAT(notes(), Not(HasSubstr("lost:")));
}

/// Closing the device would wait for the kernel.
TEST_F(ResidentFaults, AKernelThatMayBeRunningIsGivenUp) {
  run_until_the_kernel_answers();
  faults_.telling->fails = std::numeric_limits<int>::max();
  {
    const cuda::KernelPause others_call;
  }
  EXPECT_EQ(faults_.abandoned, 1);
  EXPECT_EQ(world_.faults.destroyed, 0);
  run([] { return true; });
  EXPECT_THAT(notes(), HasSubstr("an injected failure to end the kernel"));
  EXPECT_THAT(notes(), HasSubstr("shaders run on the CPU\n"));
}

TEST_F(ResidentFaults, AnAbsentGpuIsLookedForAgain) {
  world_.faults.absent = true;
  run([] { return true; });
  EXPECT_THAT(notes(), HasSubstr("lost: there is none"));
  world_.faults.absent = false;
  run_until_the_kernel_answers();
  EXPECT_THAT(notes(), Not(HasSubstr("lost:")));
}

TEST_F(ResidentFaults, AGpuWithoutMemoryForATableIsTriedAgain) {
  world_.faults.no_memory = true;
  engine_.use_table(table_.table());
  run([this] { return notes().find("lost: out of memory") != std::string::npos; });
  world_.faults.no_memory = false;
  run_until_the_kernel_answers();
}

TEST_F(ResidentFaults, ATableThatChangedMeanwhileIsThereWhenTheGpuIsBack) {
  engine_.use_table(table_.table());
  ShaderQueue lookups(engine_, world_.lookup_shader(), table_.table());
  table_.check_during(lookups, [&] {
    std::uint16_t next_hop = 0;
    for (int opened = 1; opened <= 3; ++opened) {
      ASSERT_TRUE(cuda::eventually([&] {
        faults_.ends = true;  // Repeats the request: an end during a pause is no failure.
        table_.change(++next_hop);
        std::this_thread::sleep_for(milliseconds(1));
        return world_.faults.opened > opened;
      }));
    }
    ASSERT_TRUE(cuda::eventually([&, before = by_kernel()] {
      std::this_thread::sleep_for(milliseconds(1));
      return by_kernel() >= before + 5;
    }));
  });
  EXPECT_EQ(table_.wrong_state, 0U);
}

}  // namespace
}  // namespace penumbra::cuda_resident
