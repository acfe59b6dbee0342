// SPDX-License-Identifier: Apache-2.0
//
// Tests on a real GPU, if there is one, that the GPU computes the answers. The conformance tests accept right answers
// from the CPU too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cuda/fake_world_test.h"
#include "engines/conformance.h"

namespace penumbra::cuda {
namespace {

using conformance::ShaderQueue;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class CudaEngineOnAGpu : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto info = std::ranges::find(engines(), "cuda", &EngineInfo::name);
    const Availability found = info->probe();
    if (!found.available) GTEST_SKIP() << found.reason;
    engine_ = create_engine(GetParam());
  }
  void expect_that_the_gpu_did_it() const {
    const auto notes = engine_->notes();
    for (const auto& line : notes) std::cout << GetParam() << ": " << line << "\n";
    EXPECT_THAT(notes, Contains(HasSubstr("launches")));
    EXPECT_THAT(notes, Not(Contains(HasSubstr("came back"))));
    EXPECT_THAT(notes, Not(Contains(HasSubstr("lost"))));
  }

  FakeWorld world_;
  ChangingTable table_;
  std::unique_ptr<Engine> engine_;
};

TEST_P(CudaEngineOnAGpu, AnswersByLaunches) {
  engine_->use_table(world_.modulo);
  {
    ShaderQueue queue(*engine_, *engine_->find_shader("echo"), world_.modulo);
    const std::vector<std::uint32_t> in = FakeWorld::numbers(200'000);
    FakeWorld::expect_right(queue, in, 64);
  }
  expect_that_the_gpu_did_it();
}

TEST_P(CudaEngineOnAGpu, AnswersLargeBatchesWhereTheyLie) {
  SharedColumns columns(3'000'001);
  engine_->use_table(world_.modulo);
  {
    ShaderQueue queue(*engine_, *engine_->find_shader("echo"), world_.modulo);
    queue.share(columns.memory());
    columns.check(queue, 3'000'001, 1'000'000);
  }
  expect_that_the_gpu_did_it();
}

TEST_P(CudaEngineOnAGpu, SpreadsQueuesOverAllGpus) {
  const std::vector<std::uint32_t> in = FakeWorld::numbers(20'000);
  engine_->use_table(world_.modulo);
  std::vector<std::unique_ptr<ShaderQueue>> queues(8);
  for (auto& queue : queues) {
    queue = std::make_unique<ShaderQueue>(*engine_, *engine_->find_shader("echo"), world_.modulo);
  }
  for (const auto& queue : queues) {
    FakeWorld::expect_right(*queue, in, 64);
  }
  const auto notes = engine_->notes();
  const auto says = [&notes](const char* words) {
    return std::ranges::count_if(notes, [words](const auto& line) { return line.find(words) != std::string::npos; });
  };
  EXPECT_GE(says("streams, up to"), 1);
  EXPECT_EQ(says(" launches"), says("streams, up to")) << "one line a GPU";
  expect_that_the_gpu_did_it();
}

TEST_P(CudaEngineOnAGpu, ShowsEachLaunchOneStateOfATable) {
  engine_->use_table(table_.table());
  {
    ShaderQueue queue(*engine_, *engine_->find_shader("ipv4_dir24_8"), table_.table());
    table_.check_during(queue, [&] { table_.load_and_change(10, 100); });
  }
  EXPECT_EQ(table_.wrong_state, 0U);
  EXPECT_EQ(table_.mixed, 0U);
  expect_that_the_gpu_did_it();
}

INSTANTIATE_TEST_SUITE_P(Settings, CudaEngineOnAGpu,
                         testing::Values("cuda", "cuda,streams=1,gather=1", "cuda,streams=16,gather=64",
                                         "cuda,mapped=1"),
                         conformance::test_name);

}  // namespace
}  // namespace penumbra::cuda
