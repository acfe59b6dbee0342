// SPDX-License-Identifier: Apache-2.0
//
// A whole router whose GPU, one that there is not, fails in the middle of traffic: no packet is lost, nor counted
// twice.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>

#include "control/config.h"
#include "cuda/engine.h"
#include "cuda/fake_world_test.h"
#include "cuda_resident/engine.h"
#include "cuda_resident/fake_resident_test.h"
#include "runtime/router.h"

namespace penumbra::runtime {
namespace {

using std::chrono::milliseconds;

struct Gpu {
  explicit Gpu(milliseconds its_patience) : patience(its_patience) {}

  const milliseconds patience;
  cuda::FakeWorld world;
  cuda_resident::KernelFaults kernel;
};
/// Of the test that runs.
std::unique_ptr<Gpu> gpu;

constexpr milliseconds kRetryAfter{20};

std::unique_ptr<Engine> make_cuda(const EngineSettings& /*settings*/) {
  return std::make_unique<cuda::CudaEngine>(
      gpu->world.backend(), cuda::MasterOptions{.wish = {.streams = 4, .gather = 8, .access = cuda::Access::mapped},
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
  // On a busy machine a thread may be kept waiting for long: only what is to be given up is given up soon.
  const milliseconds patience = of.is_final ? milliseconds(300) : std::chrono::minutes(1);
  gpu = std::make_unique<Gpu>(patience);
  auto config = control::parse_config(fmt::format("ports:\n"
                                                  "  - {{name: a, device: 'synth:'}}\n"
                                                  "  - {{name: b, device: 'synth:size=imix'}}\n"
                                                  "engine: {}\n"
                                                  "pipeline:\n  - echo: {{offset: 30}}\n",
                                                  of.engine),
                                      "test.yaml", ".");
  config.socket.clear();
  constexpr std::uint64_t kBefore = 5'000, kAfter = 50'000;
  const auto is_lost = [&] {
    return of.is_final ? gpu->world.faults.abandoned + gpu->kernel.abandoned > 0 : gpu->world.faults.opened > 1;
  };
  bool fails = false;
  std::uint64_t until = 0;
  Statistics statistics;
  {
    Router router(config);
    router.run({.time = std::chrono::minutes(2), .packets = {}}, [&](const Statistics& now) {
      EXPECT_GE(now.received.packets, now.sent.packets + now.dropped + now.punted);
      if (!fails && now.sent.packets > kBefore) {
        fails = true;
        of.fail(*gpu);
      }
      if (fails && until == 0 && is_lost()) until = now.sent.packets + kAfter;
      if (until != 0 && now.sent.packets > until) router.stop();
    });
    statistics = router.statistics();
  }
  EXPECT_NE(until, 0U) << "the GPU was not lost";
  EXPECT_GT(statistics.sent.packets, until) << "it has not gone on without";
  EXPECT_EQ(statistics.received.packets, statistics.sent.packets + statistics.dropped + statistics.punted);
  EXPECT_EQ(statistics.dropped, 0U);
  gpu->kernel.telling->hangs = false;
  gpu.reset();
}

INSTANTIATE_TEST_SUITE_P(
    Faults, RouterOnAGpu,
    testing::Values(Case{"LaunchFails", "test_cuda", [](Gpu& its) { its.world.faults.launches_until_fault = 3; },
                         false},
                    Case{"ContextIsLost", "test_cuda",
                         [](Gpu& its) {
                           its.world.faults.fault_is_final = true;
                           its.world.faults.fault_is_late = true;
                           its.world.faults.launches_until_fault = 3;
                         },
                         true},
                    Case{"LaunchNeverEnds", "test_cuda", [](Gpu& its) { its.world.faults.stuck = true; }, true},
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

}  // namespace
}  // namespace penumbra::runtime
