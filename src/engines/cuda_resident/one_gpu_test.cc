// SPDX-License-Identifier: Apache-2.0
//
// Tests the engines `cuda` and `cuda-resident` on one GPU, as under `auto`: a failure that one engine finds holds for
// both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda/engine.h"
#include "cuda/eventually_test.h"
#include "cuda/fake_world_test.h"
#include "cuda_resident/engine.h"
#include "cuda_resident/fake_resident_test.h"
#include "engines/conformance.h"

namespace penumbra::cuda_resident {
namespace {

using conformance::ShaderQueue;
using std::chrono::milliseconds;
using testing::Contains;
using testing::HasSubstr;

constexpr milliseconds kPatient = std::chrono::minutes(1), kImpatient{300}, kRetry{20};

/// Both engines, each with a queue that the GPU has served.
struct TwoEngines {
  explicit TwoEngines(milliseconds launches_patience = kPatient, milliseconds kernels_patience = kPatient) {
    engines.push_back(std::make_unique<cuda::CudaEngine>(
        world.backend(), cuda::LaunchOptions{.constraints = {}, .patience = launches_patience, .retry_after = kRetry}));
    engines.push_back(std::make_unique<ResidentEngine>(
        fake_backend(world, kernel), ResidentOptions{.patience = kernels_patience, .retry_after = kRetry}));
    for (const auto& engine : engines) {
      engine->use_table(world.modulo);
      queues.push_back(std::make_unique<ShaderQueue>(*engine, world.modulo_shader(), world.modulo));
    }
    run_until([this] { return world.faults.launches[0] > 0 && kernel.answers[0] > 0; });
  }

  /// Runs batches on both engines until `is_over`, at most a minute; all must be answered.
  void run_until(const std::function<bool()>& is_over) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    do {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      for (const auto& queue : queues) {
        cuda::FakeWorld::expect_right(*queue, in, 64);
      }
    } while (!is_over());
  }
  void expect_that_both_say(const std::string& words) const {
    for (const auto& engine : engines) EXPECT_THAT(engine->notes(), Contains(HasSubstr(words)));
  }
  /// A driver call that closes the GPU may never return.
  void expect_that_the_end_does_not_close_it() {
    queues.clear();
    engines.clear();
    EXPECT_EQ(world.faults.abandoned, 2);
    EXPECT_EQ(world.faults.destroyed, 0);
  }

  cuda::FakeWorld world;
  KernelFaults kernel;
  std::vector<std::unique_ptr<Engine>> engines;
  std::vector<std::unique_ptr<ShaderQueue>> queues;
  const std::vector<std::uint32_t> in = cuda::FakeWorld::numbers(1'000);
};

TEST(OneGpuOfTwoEngines, IsLostToBothWithAKernelThatIsStuck) {
  TwoEngines both(kPatient, kImpatient);
  both.kernel.dead = true;
  both.run_until([&] { return both.world.faults.abandoned == 2; });
  both.expect_that_both_say("lost: group ");
  both.expect_that_the_end_does_not_close_it();
}

TEST(OneGpuOfTwoEngines, IsLostToBothWithALaunchThatIsStuck) {
  TwoEngines both(kImpatient, kPatient);
  both.world.faults.stuck = true;
  both.run_until([&] { return both.world.faults.abandoned == 2; });
  both.expect_that_both_say("lost: a launch has not come to its end");
  both.run_until([&] { return both.kernel.telling->is_done.load(); });  // The kernel may be intact.
  both.expect_that_the_end_does_not_close_it();
}

TEST(OneGpuOfTwoEngines, IsNotClosedWhenAThirdHasLostIt) {
  TwoEngines both;
  both.world.faults.losses[0].tell("another's reason");
  both.expect_that_the_end_does_not_close_it();
}

/// The failed GPU may still read the staging memory.
TEST(AGpuThatIsLost, KeepsTheStagingMemoryOfItsTables) {
  cuda::FakeWorld world;
  KernelFaults kernel;
  cuda::ChangingTable table;
  {
    ResidentEngine engine(fake_backend(world, kernel), ResidentOptions{});
    engine.use_table(table.table());
    const auto queue = engine.open_queue();
    ASSERT_TRUE(cuda::eventually([&] { return world.faults.copied_from != nullptr; }));
    world.faults.losses[0].tell("a reason");
  }
  constexpr std::uintptr_t kPage = 4096;
  const auto page = reinterpret_cast<std::uintptr_t>(world.faults.copied_from.load()) / kPage * kPage;
  EXPECT_EQ(msync(reinterpret_cast<void*>(page), kPage, MS_ASYNC), 0) << "the memory is not there any more";
}

}  // namespace
}  // namespace penumbra::cuda_resident
