// SPDX-License-Identifier: Apache-2.0
//
// Tests when batches of narrow and of wide elements are launched, and from which memory.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/engine.h"
#include "cuda/eventually_test.h"
#include "cuda/fake_device.h"
#include "penumbra/huge_memory.h"
#include "penumbra/shader_entry.h"
#include "penumbra/table.h"

namespace penumbra::cuda {
namespace {

struct Nothing {
  std::uint32_t value;
};
using Wide = std::array<std::uint32_t, 4>;

void shade_narrow(Nothing /*view*/, const std::uint32_t* in, std::uint16_t* out, std::uint32_t n) {
  for (std::uint32_t i = 0; i < n; ++i) out[i] = static_cast<std::uint16_t>(in[i]);
}
void shade_wide(Nothing /*view*/, const Wide* in, std::uint16_t* out, std::uint32_t n) {
  for (std::uint32_t i = 0; i < n; ++i) out[i] = static_cast<std::uint16_t>(in[i][0]);
}

class CudaLaunches : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = std::size_t{8} << 20;  ///< Size of the long columns of one direction.
  static constexpr std::uint32_t kShort = 64;                  ///< Items of a short batch.

  CudaLaunches() {
    using Narrow = ShaderEntry<&shade_narrow>;
    using Wider = ShaderEntry<&shade_wide>;
    shaders_.add(Narrow::describe("narrow"), &Narrow::call);
    shaders_.add(Wider::describe("wide"), &Wider::call);
    table_.publish(view_, {});
  }
  void open(LaunchOptions options) {
    options.patience = std::chrono::minutes(1);
    engine_ = std::make_unique<CudaEngine>(fake_backend(faults_, shaders_), options);
    engine_->use_table(table_);
    queue_ = engine_->open_queue();
  }
  /// Returns a batch; short and long batches have separate columns.
  Batch batch(const char* shader, std::uint32_t items) {
    const bool is_short = items <= kShort;
    Batch batch;
    batch.shader = shaders_.find(shader);
    batch.table = &table_;
    batch.items = items;
    batch.inputs = {is_short ? static_cast<const void*>(short_in_.data()) : memory_->data()};
    batch.outputs = {is_short ? static_cast<void*>(short_out_.data()) : memory_->data() + kBytes};
    return batch;
  }
  void wait_for(const Batch& batch) {
    const Batch* back = nullptr;
    ASSERT_TRUE(eventually([&] { return (back = queue_->poll()) != nullptr; }));
    ASSERT_EQ(back, &batch);
  }
  /// Waits until the launch thread has taken all submitted jobs: it takes them in its next turn or the one after.
  void wait_until_taken() {
    ASSERT_TRUE(eventually([&, before = faults_.turns.load()] { return faults_.turns >= before + 2; }));
  }

  FakeFaults faults_;
  FakeShaders shaders_;
  const Nothing view_{};
  Table table_{"nothing"};
  const std::shared_ptr<HugeMemory> memory_ = std::make_shared<HugeMemory>(2 * kBytes);
  const std::vector<Wide> short_in_ = std::vector<Wide>(kShort);
  std::vector<std::uint16_t> short_out_ = std::vector<std::uint16_t>(kShort);
  std::unique_ptr<CudaEngine> engine_;
  std::unique_ptr<EngineQueue> queue_;
};

TEST_F(CudaLaunches, WaitForNoMoreIfAPieceOfALongBatchIsAmongThem) {
  open({.constraints = {.gather = kMostSegments}, .max_delay = std::chrono::minutes(10)});
  Batch waits = batch("wide", 64), hurries = batch("wide", 40'000);
  ASSERT_EQ(queue_->submit(waits), EngineQueue::Submitted::queued);
  ASSERT_EQ(queue_->submit(hurries), EngineQueue::Submitted::queued);
  ASSERT_NO_FATAL_FAILURE(wait_for(waits));
  ASSERT_NO_FATAL_FAILURE(wait_for(hurries));
}

struct Length {
  const char* name;
  const char* shader;
  std::uint32_t items;  ///< A multiple of the parts' size.
  bool is_copied;
};

class CudaLaunchesByLength : public CudaLaunches, public testing::WithParamInterface<Length> {};

TEST_P(CudaLaunchesByLength, CopyWhatReadingItOverTheBusTakesLongerFor) {
  open({.constraints = {.streams = 1, .gather = kMostSegments, .access = Access::by_length}});
  queue_->share(memory_);
  Batch first = batch("narrow", 64), columns = batch(GetParam().shader, GetParam().items);
  ASSERT_EQ(queue_->submit(first), EngineQueue::Submitted::queued);
  ASSERT_NO_FATAL_FAILURE(wait_for(first));  // The table has reached the GPU.
  faults_.stuck = true;                      // All parts of the second batch then wait, and are launched together.
  ASSERT_EQ(queue_->submit(first), EngineQueue::Submitted::queued);
  ASSERT_TRUE(eventually([this] { return faults_.launches[0] > 1; }));
  ASSERT_EQ(queue_->submit(columns), EngineQueue::Submitted::queued);
  ASSERT_NO_FATAL_FAILURE(wait_until_taken());
  faults_.stuck = false;
  ASSERT_NO_FATAL_FAILURE(wait_for(first));
  ASSERT_NO_FATAL_FAILURE(wait_for(columns));
  EXPECT_EQ(faults_.launches[0], 3);
  EXPECT_EQ(faults_.copied_from == memory_->data(), GetParam().is_copied);
}

INSTANTIATE_TEST_SUITE_P(Lengths, CudaLaunchesByLength,
                         testing::Values(Length{"NarrowOf1MiB", "narrow", 4 * 65'536, false},
                                         Length{"NarrowOf2MiB", "narrow", 8 * 65'536, true},
                                         Length{"WideOf256KiB", "wide", 16'384, false},
                                         Length{"WideOf512KiB", "wide", 2 * 16'384, true}),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace penumbra::cuda
