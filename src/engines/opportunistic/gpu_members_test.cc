// SPDX-License-Identifier: Apache-2.0
//
// Tests `auto` with the engines of this machine, and with the GPU engines on a fake device that may fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/steady_time.h"
#include "cuda/engine.h"
#include "cuda/fake_world_test.h"
#include "cuda_resident/engine.h"
#include "cuda_resident/fake_resident_test.h"
#include "engines/conformance.h"
#include "engines/waiting_testing.h"
#include "opportunistic/engine.h"

namespace penumbra::opportunistic {
namespace {

using conformance::ShaderQueue;
using cuda::FakeWorld;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

class AutoOnFakeGpus : public testing::TestWithParam<std::string> {
 protected:
  AutoOnFakeGpus() {
    std::vector<Member> members;
    members.push_back({"scalar", true, create_engine("scalar")});
    std::unique_ptr<Engine> gpu;
    if (GetParam() == "cuda") {
      gpu = std::make_unique<cuda::CudaEngine>(world_.backend(), options_);
    } else {
      gpu = std::make_unique<cuda_resident::ResidentEngine>(cuda_resident::fake_backend(world_, kernel_faults_),
                                                            cuda_resident::ResidentOptions{.slots = 4});
    }
    gpu_ = gpu.get();
    members.push_back({GetParam(), false, std::move(gpu)});
    engine_ = std::make_unique<AutoEngine>(std::move(members), 0, &steady_ns);
  }
  /// Runs enough batches for several changes of member under any load.
  void expect_answers(ShaderQueue& queue) const {
    const std::vector<std::uint32_t> in = FakeWorld::numbers(20'000);
    for (const std::uint32_t items : conformance::kBatchSizes) {
      FakeWorld::expect_right(queue, in, items);
    }
  }
  std::string notes_of_gpu() const {
    std::string text;
    for (const auto& line : gpu_->notes()) text += line + "\n";
    return text;
  }

  FakeWorld world_;
  cuda_resident::KernelFaults kernel_faults_;
  const cuda::LaunchOptions options_{
      .constraints = {}, .patience = std::chrono::minutes(1), .retry_after = std::chrono::milliseconds(20)};
  std::unique_ptr<AutoEngine> engine_;
  const Engine* gpu_ = nullptr;
};

TEST_P(AutoOnFakeGpus, AnswersInOrderAndUsesBoth) {
  engine_->use_table(world_.modulo);
  ShaderQueue queue(*engine_, *engine_->find_shader("echo"), world_.modulo);
  expect_answers(queue);
  const std::string used = GetParam() == "cuda" ? "launches" : "batches by the kernel";
  EXPECT_THAT(notes_of_gpu(), HasSubstr(used));
  EXPECT_THAT(engine_->notes(), AllOf(Contains(HasSubstr("echo: ")), Not(Contains(HasSubstr("changed 0 times")))));
}

TEST_P(AutoOnFakeGpus, CalibratesAndAnswers) {
  engine_->use_table(world_.modulo);
  const Shader& shader = *engine_->find_shader("echo");
  engine_->announce(shader, world_.modulo);
  ShaderQueue queue(*engine_, shader, world_.modulo);
  engine_->load_calibrations({});
  ASSERT_EQ(engine_->calibrations().size(), 1U);
  EXPECT_THAT(engine_->notes(), Contains(HasSubstr("echo on " + GetParam() + ": 8, 64 items")));
  expect_answers(queue);
}

/// Work that the CPU did in the GPU's place must not count as the GPU's cost, in particular not in a later run.
TEST_P(AutoOnFakeGpus, KeepsNoCostsOfAGpuThatHasNoMemory) {
  world_.faults.no_memory = true;
  cuda::ChangingTable table;
  engine_->use_table(table.table());
  const Shader& shader = *engine_->find_shader("ipv4_dir24_8");
  engine_->announce(shader, table.table());
  {
    ShaderQueue queue(*engine_, shader, table.table());
    engine_->load_calibrations({});
    const auto calibrations = engine_->calibrations();
    ASSERT_EQ(calibrations.size(), 1U);
    ASSERT_EQ(calibrations[0].figures.size(), 2 * kCostFigures);
    EXPECT_TRUE(costs_of(std::span(calibrations[0].figures).first(kCostFigures)));
    EXPECT_THAT(std::span(calibrations[0].figures).last(kCostFigures), Each(0.0));
    EXPECT_THAT(engine_->notes(),
                Contains("ipv4_dir24_8: scalar under light load, tried under heavy load: " + GetParam()));
    table.check(queue);
  }
  engine_.reset();  // The engine must not outlive the table.
  EXPECT_EQ(table.wrong_state, 0U);
}

TEST_P(AutoOnFakeGpus, AnswersOnATableThatChanges) {
  cuda::ChangingTable table;
  engine_->use_table(table.table());
  {
    ShaderQueue queue(*engine_, *engine_->find_shader("ipv4_dir24_8"), table.table());
    table.check_during(queue, [&] { table.load_and_change(4, 8); });
  }
  engine_.reset();  // The engine must not outlive the table.
  EXPECT_EQ(table.wrong_state, 0U);
  EXPECT_GT(table.lookups, 0U);
}

TEST_P(AutoOnFakeGpus, WakesAServiceThatWaits) {
  engine_->use_table(world_.modulo);
  conformance::expect_that_waiting_returns_batches(*engine_, world_.modulo, FakeWorld::kModulus);
}

TEST_P(AutoOnFakeGpus, ServesSeveralWorkers) {
  engine_->use_table(world_.modulo);
  const Shader& shader = *engine_->find_shader("echo");
  std::vector<std::unique_ptr<ShaderQueue>> queues;
  queues.reserve(3);
  for (int i = 0; i < 3; ++i) queues.push_back(std::make_unique<ShaderQueue>(*engine_, shader, world_.modulo));
  std::vector<std::thread> workers;
  workers.reserve(queues.size());
  for (const auto& queue : queues) workers.emplace_back([&] { expect_answers(*queue); });
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(engine_->notes(), Each(HasSubstr("echo: ")));
    std::this_thread::yield();
  }
  for (auto& worker : workers) worker.join();
}

INSTANTIATE_TEST_SUITE_P(Gpus, AutoOnFakeGpus, testing::Values("cuda", "cuda-resident"), conformance::test_name);

class AutoWhoseGpuFails : public AutoOnFakeGpus {};

TEST_P(AutoWhoseGpuFails, LosesNoBatch) {
  engine_->use_table(world_.modulo);
  ShaderQueue queue(*engine_, *engine_->find_shader("echo"), world_.modulo);
  expect_answers(queue);
  world_.faults.fault_is_final = true;
  world_.faults.launches_until_fault = 5;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (world_.faults.abandoned == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    expect_answers(queue);
  }
  expect_answers(queue);
  EXPECT_THAT(notes_of_gpu(), HasSubstr("lost"));
}

TEST_P(AutoWhoseGpuFails, KeepsNoCostsOfOneThatIsLostMeanwhile) {
  engine_->use_table(world_.modulo);
  const Shader& shader = *engine_->find_shader("echo");
  engine_->announce(shader, world_.modulo);
  ShaderQueue queue(*engine_, shader, world_.modulo);
  world_.faults.fault_is_final = true;
  world_.faults.launches_until_fault = 5;
  engine_->load_calibrations({});
  EXPECT_THAT(notes_of_gpu(), HasSubstr("lost"));
  const auto calibrations = engine_->calibrations();
  ASSERT_EQ(calibrations.size(), 1U);
  EXPECT_FALSE(costs_of(std::span(calibrations[0].figures).last(kCostFigures)));
}

TEST_P(AutoWhoseGpuFails, DoesWithoutOneThatIsNotThere) {
  world_.faults.absent = true;
  engine_->use_table(world_.modulo);
  const Shader& shader = *engine_->find_shader("echo");
  engine_->announce(shader, world_.modulo);
  ShaderQueue queue(*engine_, shader, world_.modulo);
  engine_->load_calibrations({});
  expect_answers(queue);
}

INSTANTIATE_TEST_SUITE_P(Gpus, AutoWhoseGpuFails, testing::Values("cuda"), conformance::test_name);

}  // namespace
}  // namespace penumbra::opportunistic
