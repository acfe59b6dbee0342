// SPDX-License-Identifier: Apache-2.0
//
// Tests the engine on a GPU that fails: every batch is still answered, and the notes give the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cuda/engine.h"
#include "cuda/eventually_test.h"
#include "cuda/fake_device.h"
#include "cuda/fake_world_test.h"
#include "engines/conformance.h"

namespace penumbra::cuda {
namespace {

using conformance::ShaderQueue;
using std::chrono::milliseconds;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class CudaFaults : public testing::Test {
 protected:
  /// Runs batches until `until` holds, at most a minute; all must be answered. Each batch has other numbers, because
  /// old answers may still be in the staging memory.
  void run(ShaderQueue& queue, const std::function<bool()>& until) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    do {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      const std::vector<std::uint32_t> in = FakeWorld::numbers(in_.size(), ++seed_);
      FakeWorld::expect_right(queue, in, 64);
    } while (!until());
  }
  void run_once(ShaderQueue& queue) {
    run(queue, [] { return true; });
  }
  static std::string all(const std::vector<std::string>& notes) {
    std::string text;
    for (const auto& line : notes) text += line + "\n";
    return text;
  }

  FakeWorld world_;
  FakeFaults& faults_ = world_.faults;
  /// On a busy machine a thread may wait for long, so only tests that expect the GPU to be given up are impatient.
  const LaunchOptions options_{.constraints = {}, .patience = std::chrono::minutes(1), .retry_after = milliseconds(20)};
  const LaunchOptions impatient_{.constraints = {}, .patience = milliseconds(300), .retry_after = milliseconds(20)};
  const std::vector<std::uint32_t> in_ = world_.numbers(5'000);

 private:
  unsigned seed_ = 0;
};

/// A launch that fails during traffic, at once or later.
class CudaLaunchFault : public CudaFaults, public testing::WithParamInterface<bool> {};

TEST_P(CudaLaunchFault, LosesNoBatchAndTheGpuComesBack) {
  CudaEngine engine(world_.backend(), options_);
  engine.use_table(world_.modulo);
  ShaderQueue queue(engine, world_.modulo_shader(), world_.modulo);
  faults_.fault_is_late = GetParam();
  for (int round = 1; round <= 3; ++round) {
    faults_.launches_until_fault = 5;
    run(queue, [&] { return faults_.opened == round + 1 && all(engine.notes()).find("lost:") == std::string::npos; });
    EXPECT_EQ(faults_.destroyed, round);
  }
  EXPECT_EQ(faults_.abandoned, 0);
  EXPECT_THAT(all(engine.notes()), HasSubstr("batches came back from a lost GPU"));
}

TEST_P(CudaLaunchFault, ThatIsFinalLeavesTheWorkToTheCpu) {
  CudaEngine engine(world_.backend(), options_);
  engine.use_table(world_.modulo);
  faults_.fault_is_late = GetParam();
  faults_.fault_is_final = true;
  faults_.launches_until_fault = 5;
  {
    ShaderQueue queue(engine, world_.modulo_shader(), world_.modulo);
    run(queue, [&] { return faults_.abandoned == 1; });
    std::this_thread::sleep_for(5 * options_.retry_after);
    run_once(queue);
  }
  EXPECT_EQ(faults_.opened, 1);
  EXPECT_EQ(faults_.destroyed, 0) << "a destructor may never return";
  EXPECT_THAT(all(engine.notes()), HasSubstr("lost: an injected"));
  EXPECT_THAT(all(engine.notes()), HasSubstr("shaders run on the CPU\n"));
}

TEST_P(CudaLaunchFault, InTheMiddleOfALargeBatchLosesNoneOfIt) {
  CudaEngine engine(world_.backend(), options_);
  engine.use_table(world_.modulo);
  ShaderQueue queue(engine, world_.modulo_shader(), world_.modulo);
  faults_.fault_is_late = GetParam();
  faults_.launches_until_fault = 2;
  const std::vector<std::uint32_t> in = world_.numbers(900'000);
  FakeWorld::expect_right(queue, in, 450'000);
  EXPECT_THAT(all(engine.notes()), HasSubstr("batches came back from a lost GPU"));
}

INSTANTIATE_TEST_SUITE_P(When, CudaLaunchFault, testing::Bool(),
                         [](const auto& each) { return each.param ? "Late" : "AtOnce"; });

TEST_P(CudaLaunchFault, WakesAServiceThatWaits) {
  CudaEngine engine(world_.backend(), options_);
  engine.use_table(world_.modulo);
  const auto queue = engine.open_queue();
  const std::vector<std::uint32_t> in = FakeWorld::numbers(64);
  std::vector<std::uint16_t> out(in.size(), 0xFFFF);
  Batch batch = world_.modulo_batch(in, out);
  faults_.fault_is_late = GetParam();
  faults_.fault_is_final = true;
  faults_.launches_until_fault = 0;
  ASSERT_EQ(queue->submit(batch), EngineQueue::Submitted::queued);
  ASSERT_EQ(queue->wait(std::chrono::minutes(5)), &batch);
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], in[i] % FakeWorld::kModulus);
  EXPECT_EQ(faults_.abandoned, 1);
}

TEST_F(CudaFaults, ABatchThatCameBackInPiecesIsCountedOnce) {
  CudaEngine engine(world_.backend(), impatient_);
  engine.use_table(world_.modulo);
  ShaderQueue queue(engine, world_.modulo_shader(), world_.modulo);
  run(queue, [this] { return faults_.launches[0] > 0; });
  faults_.stuck = true;
  const std::vector<std::uint32_t> in = world_.numbers(250'000);
  std::vector<std::uint16_t> out(in.size());
  queue({in.data()}, {out.data()}, in.size(), static_cast<std::uint32_t>(in.size()));
  EXPECT_THAT(engine.notes(), Contains("1 batches came back from a lost GPU, for the CPU"));
}

TEST_F(CudaFaults, ABatchOnATableThatTheGpuDoesNotHaveIsLostWithNone) {
  CudaEngine engine(world_.backend(), options_);
  ShaderQueue queue(engine, world_.modulo_shader(), world_.modulo);
  run_once(queue);
  EXPECT_THAT(all(engine.notes()), Not(HasSubstr("came back")));
}

/// A GPU that has answered one batch, so that it has the table, and then never finishes.
class CudaEndless : public CudaFaults {
 protected:
  CudaEndless() {
    engine_.use_table(world_.modulo);
    run_once(queue_);
  }
  /// Closing the device would wait for the work that never ends.
  void expect_it_is_not_closed() const {
    EXPECT_EQ(faults_.abandoned, 1);
    EXPECT_EQ(faults_.destroyed, 0) << "a destructor may never return";
  }

  CudaEngine engine_{world_.backend(), impatient_};
  ShaderQueue queue_{engine_, world_.modulo_shader(), world_.modulo};
};

TEST_F(CudaEndless, LaunchIsGivenUp) {
  faults_.stuck = true;
  run(queue_, [&] { return faults_.abandoned == 1; });
  EXPECT_THAT(all(engine_.notes()), HasSubstr("lost: a launch has not come to its end in 300 ms"));
  EXPECT_EQ(engine_.open_queue()->poll(), nullptr);
}

TEST_F(CudaEndless, LaunchWhoseEndWasNotMarkedIsGivenUp) {
  faults_.stuck_stream = 0;  // The first free stream; copies of tables continue.
  faults_.fails_to_mark = true;
  run_once(queue_);
  expect_it_is_not_closed();
  EXPECT_THAT(all(engine_.notes()), HasSubstr("; then what the GPU was given has not come to its end in 300 ms; this "
                                              "program has to be restarted to use the GPU again; shaders run"));
}

TEST_F(CudaEndless, LaunchIsGivenUpThoughMoreAndMoreFails) {
  faults_.stuck = true;
  faults_.launches_until_fault = 1;  // The second launch fails, and then the mark for the end of the first.
  faults_.fails_to_mark_after_a_fault = true;
  run_once(queue_);
  expect_it_is_not_closed();
  EXPECT_THAT(all(engine_.notes()), HasSubstr("; then where what the GPU was given ends is not marked, "));
  EXPECT_THAT(all(engine_.notes()), HasSubstr("has to be restarted"));
}

/// Closing the device would wait for the launch.
TEST_F(CudaFaults, ALaunchThatNeverEndsBesideAnotherFailureIsGivenUp) {
  ChangingTable table;
  CudaEngine engine(world_.backend(), impatient_);
  engine.use_table(world_.modulo);
  std::vector<std::uint16_t> out(64);
  const std::vector<std::uint32_t> in = world_.numbers(out.size());
  {
    ShaderQueue first(engine, world_.modulo_shader(), world_.modulo);
    run(first, [this] { return faults_.launches[0] > 0; });
  }
  const auto queue = engine.open_queue();
  faults_.stuck = true;
  const int launches = faults_.launches[0];
  Batch batch = world_.modulo_batch(in, out);
  ASSERT_EQ(queue->submit(batch), EngineQueue::Submitted::queued);
  ASSERT_TRUE(eventually([&] { return faults_.launches[0] > launches; }));
  faults_.no_memory = true;
  engine.use_table(table.table());
  ASSERT_TRUE(eventually([&] { return queue->poll() != nullptr; }));
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], in[i] % FakeWorld::kModulus) << i;
  EXPECT_EQ(faults_.abandoned, 1);
  EXPECT_EQ(faults_.destroyed, 0);
  EXPECT_THAT(all(engine.notes()), HasSubstr("lost: "));
  EXPECT_THAT(all(engine.notes()), HasSubstr("has to be restarted"));
}

/// Calls that wait until no kernel runs on the GPU must not wait for a launch that never ends.
class CudaStuckLaunch : public CudaFaults {
 protected:
  CudaStuckLaunch() {
    engine_.use_table(world_.modulo);
    {
      ShaderQueue first(engine_, world_.modulo_shader(), world_.modulo);
      run(first, [this] { return faults_.launches[0] > 0; });
    }
    queue_ = engine_.open_queue();
  }
  /// Runs `action` with a batch whose launch does not end from then on.
  template <class Action>
  void expect_that_it_returns(const Action& action) {
    faults_.stuck = true;
    const int launches = faults_.launches[0];
    Batch batch = world_.modulo_batch(in_, out_);
    ASSERT_EQ(queue_->submit(batch), EngineQueue::Submitted::queued);
    ASSERT_TRUE(eventually([&] { return faults_.launches[0] > launches; }));
    action();
    ASSERT_TRUE(eventually([&] { return queue_->poll() != nullptr; }));
    for (std::size_t i = 0; i < in_.size(); ++i) ASSERT_EQ(out_[i], in_[i] % FakeWorld::kModulus) << i;
    EXPECT_EQ(faults_.abandoned, 1);
    EXPECT_EQ(faults_.destroyed, 0);
    EXPECT_THAT(all(engine_.notes()), HasSubstr("not come to its end in 300 ms"));
  }

  /// Publishes `bytes` bytes in another table than that of the launch.
  void publish(std::size_t bytes) { growing_.publish(view_, {{offsetof(View, data), memory_.data(), bytes}}); }

  struct View {
    echo_view itself;
    const std::byte* data;
  };
  const std::vector<std::byte> memory_{2'000};
  const View view_{{FakeWorld::kModulus}, memory_.data()};
  Table growing_{"growing"};
  std::vector<std::uint16_t> out_ = std::vector<std::uint16_t>(in_.size());
  CudaEngine engine_{world_.backend(), impatient_};
  std::unique_ptr<EngineQueue> queue_;
};

TEST_F(CudaStuckLaunch, KeepsNoTableThatGrowsFromItsOwner) {
  engine_.use_table(growing_);
  for (int i = 0; i < 2; ++i) {  // After the second time both copies on the GPU have memory.
    publish(1'000);
    Batch batch = world_.modulo_batch(in_, out_);
    batch.table = &growing_;
    ASSERT_EQ(queue_->submit(batch), EngineQueue::Submitted::queued);
    ASSERT_TRUE(eventually([&] { return queue_->poll() != nullptr; }));
  }
  expect_that_it_returns([&] { publish(2'000); });
}

TEST_F(CudaStuckLaunch, KeepsNoWorkerThatSharesMemory) {
  const SharedColumns columns(50'000);
  expect_that_it_returns([&] { queue_->share(columns.memory()); });
}

TEST_F(CudaStuckLaunch, KeepsNoQueueFromBeingClosed) {
  std::unique_ptr<EngineQueue> other = engine_.open_queue();
  expect_that_it_returns([&] { other.reset(); });
}

/// A worker with one batch.
class Worker {
 public:
  Worker(const FakeWorld& world, CudaEngine& engine, const Table& table, unsigned seed)
      : in_(FakeWorld::numbers(64, seed)), batch_(world.modulo_batch(in_, out_)), queue_(engine.open_queue()) {
    batch_.table = &table;
  }
  void submit() { ASSERT_EQ(queue_->submit(batch_), EngineQueue::Submitted::queued); }
  bool has_it_back() { return queue_->poll() == &batch_; }
  void expect_answers() const {
    for (std::size_t i = 0; i < in_.size(); ++i) ASSERT_EQ(out_[i], in_[i] % FakeWorld::kModulus) << i;
  }

 private:
  const std::vector<std::uint32_t> in_;
  std::vector<std::uint16_t> out_ = std::vector<std::uint16_t>(in_.size(), 0xFFFF);
  Batch batch_;
  const std::unique_ptr<EngineQueue> queue_;
};

/// Two streams for launches of one batch; no work is done on them from the beginning of the test.
class CudaLaunchesInFlight : public CudaFaults {
 protected:
  CudaLaunchesInFlight() {
    other_.publish(view_, {});
    for (Table* table : {&world_.modulo, &other_, &table_.table()}) engine_.use_table(*table);
    {
      ShaderQueue first(engine_, world_.modulo_shader(), world_.modulo);
      run(first, [this] { return faults_.launches[0] > 0; });
      ShaderQueue second(engine_, world_.modulo_shader(), other_);
      run_once(second);
      ShaderQueue lookups(engine_, world_.lookup_shader(), table_.table());
      table_.check(lookups);
      table_.load(1);  // Now both copies on the GPU have memory.
    }
    faults_.stuck = true;
  }
  void launch(Worker& worker) {
    const int launches = faults_.launches[0];
    ASSERT_NO_FATAL_FAILURE(worker.submit());
    ASSERT_TRUE(eventually([&] { return faults_.launches[0] > launches; }));
  }
  static void expect_back(Worker& worker) {
    ASSERT_TRUE(eventually([&] { return worker.has_it_back(); }));
    worker.expect_answers();
  }

  const echo_view view_{FakeWorld::kModulus};
  Table other_{"other"};
  ChangingTable table_;
  /// The patience exceeds the wait for events that must come at once.
  CudaEngine engine_{world_.backend(), LaunchOptions{.constraints = {.streams = 2, .gather = 1},
                                                     .patience = std::chrono::minutes(2),
                                                     .retry_after = milliseconds(20)}};
  Worker one_{world_, engine_, world_.modulo, 1}, another_{world_, engine_, other_, 2},
      third_{world_, engine_, world_.modulo, 3};
};

TEST_F(CudaLaunchesInFlight, KeepNobodyElseWaitingWhenTheGpuIsGivenUp) {
  ASSERT_NO_FATAL_FAILURE(launch(one_));
  ASSERT_NO_FATAL_FAILURE(launch(another_));
  ASSERT_NO_FATAL_FAILURE(third_.submit());  // No stream is free for this batch.
  const auto load = std::async(std::launch::async, [this] { table_.load(2); });
  const auto load_returns_in = [&load](milliseconds time) { return load.wait_for(time) == std::future_status::ready; };
  ASSERT_FALSE(load_returns_in(milliseconds(50)));
  faults_.losses[0].tell("another's reason");
  ASSERT_NO_FATAL_FAILURE(expect_back(third_));
  EXPECT_TRUE(load_returns_in(std::chrono::minutes(1)));
  faults_.stuck_stream = 0;
  faults_.stuck = false;
  ASSERT_NO_FATAL_FAILURE(expect_back(another_));
  EXPECT_FALSE(one_.has_it_back());
  faults_.stuck_stream = -1;
  ASSERT_NO_FATAL_FAILURE(expect_back(one_));
  EXPECT_THAT(engine_.notes(), Contains("1 batches came back from a lost GPU, for the CPU"));
}

TEST_F(CudaLaunchesInFlight, ThatHaveEndedAreNotAskedAboutWhenAnotherFails) {
  ASSERT_NO_FATAL_FAILURE(launch(one_));
  ASSERT_NO_FATAL_FAILURE(launch(another_));
  faults_.fault_is_final = true;
  faults_.fault_after_an_end = true;
  faults_.stuck = false;
  ASSERT_NO_FATAL_FAILURE(expect_back(one_));
  ASSERT_NO_FATAL_FAILURE(expect_back(another_));
  EXPECT_EQ(faults_.asked_in_vain, 0);
  EXPECT_THAT(engine_.notes(), Contains("1 batches came back from a lost GPU, for the CPU"));
}

TEST_F(CudaLaunchesInFlight, AreAnsweredIfTheyEndBeforeTheGpuIsOpenedAnew) {
  ASSERT_NO_FATAL_FAILURE(launch(one_));
  faults_.launches_until_fault = 0;
  ASSERT_NO_FATAL_FAILURE(launch(another_));
  faults_.stuck = false;
  ASSERT_NO_FATAL_FAILURE(expect_back(one_));
  ASSERT_NO_FATAL_FAILURE(expect_back(another_));
  EXPECT_EQ(faults_.abandoned, 0);
  EXPECT_THAT(engine_.notes(), Contains("1 batches came back from a lost GPU, for the CPU"));
}

/// A table that the GPU has, and whose copies never end from now on.
struct StuckCopies {
  StuckCopies(FakeWorld& world, const LaunchOptions& options) : engine(world.backend(), options) {
    engine.use_table(table.table());
    queue = std::make_unique<ShaderQueue>(engine, world.lookup_shader(), table.table());
    table.check(*queue);
    world.faults.stuck = true;
  }

  ChangingTable table;
  CudaEngine engine;
  std::unique_ptr<ShaderQueue> queue;
};

TEST_F(CudaFaults, ATableCopyThatNeverEndsIsGivenUpAndItsOwnerGoesOn) {
  StuckCopies gpu(world_, impatient_);
  gpu.table.load(1);  // A whole table: the owner waits until the GPU has it.
  ASSERT_TRUE(eventually([&] { return faults_.abandoned > 0; }));
  gpu.table.check(*gpu.queue);
  EXPECT_EQ(gpu.table.wrong_state, 0U);
  // A slow thread may find first that the batch of check() does not end.
  EXPECT_THAT(all(gpu.engine.notes()), AnyOf(HasSubstr("a copy of the table"), HasSubstr("what the GPU was given")));
}

/// The owner does not wait for a small change; closing the device must not wait either.
TEST_F(CudaFaults, ATableCopyThatNeverEndsDoesNotHoldUpTheEnd) {
  {
    StuckCopies gpu(world_, impatient_);
    gpu.table.change(5);
  }
  EXPECT_EQ(faults_.abandoned, 1);
  EXPECT_EQ(faults_.destroyed, 0);
}

TEST_F(CudaFaults, AnAbsentGpuIsLookedForAgain) {
  faults_.absent = true;
  CudaEngine engine(world_.backend(), options_);
  engine.use_table(world_.modulo);
  ShaderQueue queue(engine, world_.modulo_shader(), world_.modulo);
  run_once(queue);
  EXPECT_THAT(all(engine.notes()), HasSubstr("lost: there is none; shaders run on the CPU until the GPU is back"));
  EXPECT_EQ(faults_.opened, 0);
  faults_.absent = false;
  run(queue, [&] { return faults_.opened == 1 && faults_.most_segments > 0; });
  EXPECT_THAT(all(engine.notes()), Not(HasSubstr("lost:")));
}

TEST_F(CudaFaults, AGpuWithoutMemoryIsTriedAgain) {
  faults_.no_memory = true;
  CudaEngine engine(world_.backend(), options_);
  engine.use_table(world_.modulo);
  ShaderQueue queue(engine, world_.modulo_shader(), world_.modulo);
  run_once(queue);
  EXPECT_THAT(all(engine.notes()), HasSubstr("lost: out of memory"));
  faults_.no_memory = false;
  run(queue, [&] { return faults_.most_segments > 0; });
  EXPECT_THAT(all(engine.notes()), Not(HasSubstr("lost:")));
}

TEST_F(CudaFaults, MemoryThatTheGpuHasNoRoomForIsCopied) {
  CudaEngine engine(world_.backend(), options_);
  engine.use_table(world_.modulo);
  ShaderQueue queue(engine, world_.modulo_shader(), world_.modulo);
  faults_.no_memory = true;
  SharedColumns columns(50'000);
  queue.share(columns.memory());
  columns.check(queue, 50'000, 50'000);
  EXPECT_GT(faults_.most_segments, 0);
  EXPECT_THAT(all(engine.notes()), Not(HasSubstr("lost")));
}

TEST_F(CudaFaults, ATableThatChangedMeanwhileIsThereWhenTheGpuIsBack) {
  ChangingTable table;
  CudaEngine engine(world_.backend(), options_);
  engine.use_table(table.table());
  ShaderQueue queue(engine, world_.lookup_shader(), table.table());
  table.check_during(queue, [&] {
    std::uint16_t next_hop = 0;
    for (int opened = 1; opened <= 3; ++opened) {
      faults_.launches_until_fault = 3;
      ASSERT_TRUE(eventually([&] {
        table.change(++next_hop);
        std::this_thread::sleep_for(milliseconds(1));
        return faults_.opened > opened;
      }));
    }
    ASSERT_TRUE(eventually([&, seen = table.lookups.load()] { return table.lookups >= seen + 5; }));
  });
  EXPECT_EQ(table.wrong_state, 0U);
}

}  // namespace
}  // namespace penumbra::cuda
