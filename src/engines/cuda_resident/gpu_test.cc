// SPDX-License-Identifier: Apache-2.0
//
// Tests on a real GPU, if there is one, that the kernel computes the answers. The conformance tests accept right
// answers from the CPU too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cuda/fake_world_test.h"
#include "cuda_resident/layout.h"
#include "engines/conformance.h"
#include "tables/payload_copy/payload_testing.h"

namespace penumbra::cuda_resident {
namespace {

using conformance::ShaderQueue;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Availability availability() {
  return std::ranges::find(engines(), "cuda-resident", &EngineInfo::name)->probe();
}

std::size_t count_of_lines(const std::vector<std::string>& lines, const char* words) {
  return std::ranges::count_if(lines, [words](const auto& line) { return line.find(words) != std::string::npos; });
}

class ResidentOnAGpu : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const Availability found = availability();
    if (!found.available) GTEST_SKIP() << found.reason;
    engine_ = create_engine(GetParam());
  }
  void expect_that_the_kernel_did_it() const {
    const auto notes = engine_->notes();
    for (const auto& line : notes) std::cout << GetParam() << ": " << line << "\n";
    EXPECT_THAT(notes, Contains(HasSubstr("batches by the kernel")));
    EXPECT_THAT(notes, Not(Contains(HasSubstr("came back"))));
    EXPECT_THAT(notes, Not(Contains(HasSubstr("lost"))));
  }
  /// Checks the answers for `items` numbers in batches of `batch_items`; the columns start `offset` bytes into a line
  /// of 64.
  void expect_right_answers(ShaderQueue& queue, std::size_t items, std::uint32_t batch_items, std::size_t offset,
                            unsigned seed = cuda::FakeWorld::kSeed) {
    const std::vector<std::uint32_t> numbers = cuda::FakeWorld::numbers(items, seed);
    auto* const in = reinterpret_cast<std::uint32_t*>(memory_->data() + offset);
    auto* const out = reinterpret_cast<std::uint16_t*>(memory_->data() + memory_->bytes() / 2 + offset);
    std::ranges::copy(numbers, in);
    std::fill_n(out, items + 1, std::uint16_t{0xFFFF});
    queue({in}, {out}, items, batch_items);
    for (std::size_t i = 0; i < items; ++i) {
      ASSERT_EQ(out[i], numbers[i] % cuda::FakeWorld::kModulus) << i << " of " << batch_items;
    }
    ASSERT_EQ(out[items], 0xFFFF) << batch_items;
  }

  cuda::FakeWorld world_;
  cuda::ChangingTable table_;
  std::unique_ptr<Engine> engine_;
  const std::shared_ptr<HugeMemory> memory_ = std::make_shared<HugeMemory>(std::size_t{8} << 20);
};

TEST_P(ResidentOnAGpu, AnswersBatchesOfAnySize) {
  engine_->use_table(world_.modulo);
  {
    ShaderQueue queue(*engine_, *engine_->find_shader("echo"), world_.modulo);
    for (const std::uint32_t batch_items : {1U, 31U, 32U, 33U, 64U, 128U, 150U, 5'000U, 200'000U}) {
      expect_right_answers(queue, std::min(200'000U, 3'000 * batch_items), batch_items, 0);
    }
  }
  expect_that_the_kernel_did_it();
}

TEST_P(ResidentOnAGpu, ReadsSharedColumnsOfAnyAlignment) {
  engine_->use_table(world_.modulo);
  {
    ShaderQueue queue(*engine_, *engine_->find_shader("echo"), world_.modulo);
    queue.share(memory_);
    for (const std::size_t offset : {0, 4, 8, 32}) {
      for (const std::uint32_t items : {257U, 2'050U, 9'999U, 500'000U})
        expect_right_answers(queue, items, items, offset);
    }
  }
  expect_that_the_kernel_did_it();
}

/// Each run has other numbers in the same memory, so that stale data of a GPU cache would show.
TEST_P(ResidentOnAGpu, ReadsWhatWasWrittenLast) {
  engine_->use_table(world_.modulo);
  {
    ShaderQueue queue(*engine_, *engine_->find_shader("echo"), world_.modulo);
    queue.share(memory_);
    for (unsigned seed = 0; seed < 500; ++seed) {
      for (const std::uint32_t items : {800U, 1'100U, 4'096U}) expect_right_answers(queue, items, items, 0, seed);
    }
  }
  expect_that_the_kernel_did_it();
}

TEST_P(ResidentOnAGpu, ShowsATableAsItIs) {
  engine_->use_table(table_.table());
  {
    ShaderQueue queue(*engine_, *engine_->find_shader("ipv4_dir24_8"), table_.table());
    table_.check_during(queue, [&] { table_.load_and_change(10, 100); });
    for (int i = 0; i < 10'000; ++i) table_.check(queue);
  }
  EXPECT_EQ(table_.wrong_state, 0U);
  expect_that_the_kernel_did_it();
}

/// Opens as many queues as the engine `cuda` reports GPUs: each GPU gets one, and has its own line in the notes.
TEST_P(ResidentOnAGpu, SpreadsQueuesOverAllGpus) {
  const auto other = create_engine("cuda");
  other->use_table(world_.modulo);
  engine_->use_table(world_.modulo);
  {
    const ShaderQueue there(*other, *other->find_shader("echo"), world_.modulo);
    const std::size_t gpus = count_of_lines(other->notes(), "streams, up to");
    ASSERT_GE(gpus, 1U);
    std::vector<std::unique_ptr<ShaderQueue>> queues(gpus);
    for (auto& queue : queues) {
      queue = std::make_unique<ShaderQueue>(*engine_, *engine_->find_shader("echo"), world_.modulo);
    }
    for (const auto& queue : queues) expect_right_answers(*queue, 20'000, 64, 0);
    EXPECT_EQ(count_of_lines(engine_->notes(), "batches by the kernel"), gpus);
  }
  expect_that_the_kernel_did_it();
}

TEST_P(ResidentOnAGpu, ServesWhicheverShaderABatchNames) {
  engine_->use_table(world_.modulo);
  engine_->use_table(table_.table());
  cuda::check_by_turns(*engine_, world_, table_);
  expect_that_the_kernel_did_it();
}

/// Runs two shaders on two tables in one kernel, next to the engine `cuda`, whose calls may wait for all kernels.
TEST_P(ResidentOnAGpu, SharesTheGpu) {
  const auto other = create_engine("cuda");
  other->use_table(table_.table());
  other->use_table(world_.modulo);
  engine_->use_table(table_.table());
  engine_->use_table(world_.modulo);
  {
    ShaderQueue here(*engine_, *engine_->find_shader("ipv4_dir24_8"), table_.table());
    ShaderQueue numbers(*engine_, *engine_->find_shader("echo"), world_.modulo);
    ShaderQueue there(*other, *other->find_shader("ipv4_dir24_8"), table_.table());
    ShaderQueue many_there(*other, *other->find_shader("echo"), world_.modulo);
    table_.load_and_change(3, 3);
    for (int i = 0; i < 200; ++i) {
      table_.check(here);
      table_.check(there);
      expect_right_answers(numbers, 500, 40, 0);
      expect_right_answers(many_there, 5'000, 40, 0);  // Launches of one batch and of many.
    }
  }
  EXPECT_EQ(table_.wrong_state, 0U);
  expect_that_the_kernel_did_it();
}

/// Runs as many groups as the bus supports, or as the GPU holds, for any register use of the tree's shaders.
TEST(ManyGroupsOnAGpu, AnswerAllAtOnce) {
  const Availability found = availability();
  if (!found.available) GTEST_SKIP() << found.reason;
  constexpr std::uint32_t kSlots = 128, kWorkers = kMostSlots / kSlots;
  cuda::FakeWorld world;
  const auto engine = create_engine("cuda-resident,slots=128,blocks=512");
  engine->use_table(world.modulo);
  {
    std::vector<std::unique_ptr<ShaderQueue>> queues;
    try {
      while (queues.size() < kWorkers) {
        queues.push_back(std::make_unique<ShaderQueue>(*engine, *engine->find_shader("echo"), world.modulo));
      }
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr("blocks of the GPU that it may take are taken"));
    }
    ASSERT_FALSE(queues.empty());
    const std::vector<std::uint32_t> in = cuda::FakeWorld::numbers(100'000);
    for (const auto& queue : queues) {
      cuda::FakeWorld::expect_right(*queue, in, 32);
    }
  }
  EXPECT_THAT(engine->notes(), Not(Contains(HasSubstr("on the CPU"))));
}

/// A launch that needs shared memory of a block finds room next to all groups that the GPU holds.
TEST(ManyGroupsOnAGpu, LeaveRoomForLaunches) {
  const Availability found = availability();
  if (!found.available) GTEST_SKIP() << found.reason;
  cuda::FakeWorld world;
  payload_testing::Masks masks;
  const auto resident = create_engine("cuda-resident,slots=128,blocks=512");
  const auto cuda = create_engine("cuda");
  resident->use_table(world.modulo);
  cuda->use_table(masks.table);
  {
    std::vector<std::unique_ptr<ShaderQueue>> queues;
    try {
      while (queues.size() < 4) {
        queues.push_back(std::make_unique<ShaderQueue>(*resident, *resident->find_shader("echo"), world.modulo));
      }
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr("blocks of the GPU that it may take are taken"));
    }
    payload_testing::Items items(5'000, 2'000);
    const payload_testing::Payload payload(items.destination_bytes);
    ShaderQueue launches(*cuda, *cuda->find_shader("payload_copy"), masks.table);
    launches.share(payload.source);
    launches.share(payload.destination);
    const std::vector<std::uint32_t> in = cuda::FakeWorld::numbers(10'000);
    for (const std::uint32_t batch_items : {64U, 256U}) {
      for (const auto& queue : queues) cuda::FakeWorld::expect_right(*queue, in, 32);
      payload.clear();
      payload_testing::run(launches, items, {payload.source->data(), payload.destination->data()}, batch_items);
      payload_testing::expect_copies(items, payload, masks.mask);
    }
  }
  for (const Engine* const engine : {resident.get(), cuda.get()}) {
    EXPECT_THAT(engine->notes(), Not(Contains(AnyOf(HasSubstr("on the CPU"), HasSubstr("lost")))));
  }
}

INSTANTIATE_TEST_SUITE_P(Settings, ResidentOnAGpu,
                         testing::Values("cuda-resident", "cuda-resident,slots=1", "cuda-resident,threads=32",
                                         "cuda-resident,threads=512", "cuda-resident,slots=100"),
                         conformance::test_name);

}  // namespace
}  // namespace penumbra::cuda_resident
