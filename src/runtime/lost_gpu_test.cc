// SPDX-License-Identifier: Apache-2.0
//
// Tests a whole router whose simulated GPU fails during traffic: no packet is lost or counted twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <thread>

#include "base/sanitizer_scale.h"
#include "cuda/engine.h"
#include "cuda/fake_world_test.h"
#include "cuda_resident/engine.h"
#include "cuda_resident/fake_resident_test.h"
#include "runtime/failing_gpu_test.h"
#include "runtime/sealing_router_test.h"

namespace penumbra::runtime {
namespace {

using std::chrono::milliseconds;

struct Gpu {
  explicit Gpu(milliseconds its_patience) : patience(its_patience) {}

  const milliseconds patience;
  cuda::FakeWorld world;
  cuda_resident::KernelFaults kernel;
};
/// This is the GPU of the current test.
std::unique_ptr<Gpu> gpu;

constexpr milliseconds kRetryAfter{20};

std::unique_ptr<Engine> make_cuda(const EngineSettings& /*settings*/) {
  return std::make_unique<cuda::CudaEngine>(
      gpu->world.backend(),
      cuda::LaunchOptions{.constraints = {.streams = 4, .gather = 8, .access = cuda::Access::mapped},
                          .patience = gpu->patience,
                          .retry_after = kRetryAfter});
}

std::unique_ptr<Engine> make_resident(const EngineSettings& /*settings*/) {
  return std::make_unique<cuda_resident::ResidentEngine>(
      cuda_resident::fake_backend(gpu->world, gpu->kernel),
      cuda_resident::ResidentOptions{.patience = gpu->patience, .retry_after = kRetryAfter});
}

bool add_engine(const char* name, std::unique_ptr<Engine> (*create)(const EngineSettings&)) {
  return register_engine({.name = name,
                          .summary = "for tests",
                          .priority = -10,
                          .settings = {},
                          .probe = [] { return Availability{true, "always"}; },
                          .create = create});
}

[[maybe_unused]] const bool kEngines = add_engine("test_cuda", make_cuda) && add_engine("test_resident", make_resident);

struct Case {
  const char* name;
  const char* engine;
  void (*fail)(Gpu&);
  bool is_final;
};

std::ostream& operator<<(std::ostream& out, const Case& of) {
  return out << of.name;
}

class RouterOnAGpu : public testing::TestWithParam<Case> {};

TEST_P(RouterOnAGpu, LosesNoPacketWithIt) {
  const Case& of = GetParam();
  // A busy machine may delay threads for long. Therefore the patience is short only for failures that must be final.
  const milliseconds patience = of.is_final ? milliseconds(300) : std::chrono::minutes(1);
  gpu = std::make_unique<Gpu>(patience);
  forward_while_it_fails(
      of.engine, [&of] { of.fail(*gpu); },
      [&of] {
        return of.is_final ? gpu->world.faults.abandoned + gpu->kernel.abandoned > 0 : gpu->world.faults.opened > 1;
      });
  gpu->kernel.telling->hangs = false;
  gpu.reset();
}

const Case kLaunchFails{"LaunchFails", "test_cuda", [](Gpu& its) { its.world.faults.launches_until_fault = 3; }, false};
const Case kContextIsLost{"ContextIsLost", "test_cuda",
                          [](Gpu& its) {
                            its.world.faults.fault_is_final = true;
                            its.world.faults.fault_is_late = true;
                            its.world.faults.launches_until_fault = 3;
                          },
                          true};
const Case kLaunchNeverEnds{"LaunchNeverEnds", "test_cuda", [](Gpu& its) { its.world.faults.stuck = true; }, true};

INSTANTIATE_TEST_SUITE_P(
    Faults, RouterOnAGpu,
    testing::Values(kLaunchFails, kContextIsLost, kLaunchNeverEnds,
                    Case{"KernelEnds", "test_resident", [](Gpu& its) { its.kernel.ends = true; }, false},
                    Case{"KernelIsDead", "test_resident", [](Gpu& its) { its.kernel.dead = true; }, true},
                    Case{"KernelIsMute", "test_resident", [](Gpu& its) { its.kernel.mute = true; }, true},
                    Case{"DriverDoesNotComeBack", "test_resident",
                         [](Gpu& its) {
                           its.kernel.telling->hangs = true;
                           its.kernel.dead = true;
                         },
                         true}),
    [](const auto& each) { return std::string(each.param.name); });

class GatewayOnAGpu : public testing::TestWithParam<Case> {
 protected:
  GatewayOnAGpu() {
    gpu = std::make_unique<Gpu>(GetParam().is_final ? milliseconds(300) : milliseconds(std::chrono::minutes(1)));
  }
  ~GatewayOnAGpu() override { gpu.reset(); }

  static bool has_failed() {
    return GetParam().is_final ? gpu->world.faults.abandoned > 0 : gpu->world.faults.opened > 1;
  }
};

TEST_P(GatewayOnAGpu, SealsEachPacketOnceAndRight) {
  const SealingRouter router(GetParam().engine);
  run_while_it_fails(
      router.sealing(), {.before = 500 / kSanitizerScale, .after = 3'000 / kSanitizerScale},
      [] { GetParam().fail(*gpu); }, has_failed);
  router.expect_all_sealed();
}

TEST_P(GatewayOnAGpu, OpensEachPacketOnce) {
  const SealingRouter router(GetParam().engine);
  constexpr std::uint64_t kPackets = 2 * SealingRouter::kOpenedPerSecond, kBefore = kPackets / 40;
  {
    Router sealing(router.sealing());
    sealing.run({.time = {}, .packets = kPackets}, [](const Statistics& /*now*/) {});
  }
  Router opening(router.opening());
  bool fails = false;
  opening.run({.time = std::chrono::minutes(2), .packets = {}}, [&](const Statistics& now) {
    if (!fails && now.sent.packets > kBefore) {
      fails = true;
      GetParam().fail(*gpu);
    }
  });
  const Statistics statistics = opening.statistics();
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!has_failed() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_TRUE(has_failed());
  EXPECT_GE(statistics.received.packets, kPackets);
  std::uint64_t others = 0, expired = 0;  // The two routers make the lowest TTLs end.
  for (const ReasonCount& reason : statistics.reasons)
    (reason.reason == "ttl_expired" ? expired : others) += reason.packets;
  EXPECT_EQ(others, 0U);
  EXPECT_EQ(statistics.sent.packets + expired, statistics.received.packets);
}

INSTANTIATE_TEST_SUITE_P(Faults, GatewayOnAGpu, testing::Values(kLaunchFails, kContextIsLost, kLaunchNeverEnds),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace penumbra::runtime
