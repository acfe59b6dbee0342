// SPDX-License-Identifier: Apache-2.0
//
// Tests a whole router whose simulated GPU fails during traffic: no packet is lost or counted twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <ostream>
#include <string>

#include "cuda/engine.h"
#include "cuda/fake_world_test.h"
#include "cuda_resident/engine.h"
#include "cuda_resident/fake_resident_test.h"
#include "runtime/failing_gpu_test.h"

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
