// SPDX-License-Identifier: Apache-2.0
//
// Tests a whole router whose real GPU fails during traffic. lost_gpu_test.cc has more failures on a simulated GPU. Each
// case runs in its own process, because a broken context breaks all its users.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "cuda/engine.h"
#include "cuda/kernels.h"
#include "cuda/runtime.h"
#include "runtime/broken_kernels_test.h"
#include "runtime/failing_gpu_test.h"
#include "tables/echo/echo.shader.h"

namespace penumbra::runtime {
namespace {

/// Restricts this process to one GPU, so that the router's GPU is the one that fails. CUDA is not yet initialized at
/// this point.
[[maybe_unused]] const bool kSeesOneGpu = [] {
  const char* const seen = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::string all = seen == nullptr ? "0" : seen;
  return setenv("CUDA_VISIBLE_DEVICES", all.substr(0, all.find(',')).c_str(), 1) == 0;
}();

using Broken = cudaError_t (*)(cudaStream_t stream);

/// Names the engine `cuda` with replaceable launches.
constexpr char kBroken[] = "broken_cuda";

/// Replaces the next launch of the shader's kernel.
std::atomic<Broken> broken{nullptr};
/// Counts the shader's kernel launches so far.
std::atomic<std::uint64_t> launches{0};

cudaError_t launch_or_break(const cuda::Launch& launch, const cuda::Signal& signal, const cuda::Way& way) {
  if (const Broken next = broken.exchange(nullptr)) return next(way.stream);
  ++launches;
  return Variants<cuda::Kernel>::call_of(*cuda::kernels().find("echo")).launch(launch, signal, way);
}

Variants<cuda::Kernel>& shaders() {
  static Variants<cuda::Kernel> all;
  [[maybe_unused]] static const bool kIsAdded = all.add(*cuda::kernels().find("echo"), {{}, 0, &launch_or_break});
  return all;
}

std::unique_ptr<Engine> make(const EngineSettings& told) {
  return std::make_unique<cuda::CudaEngine>(
      cuda::Backend{.open = cuda::open_gpu,
                    .find_shader = [](const std::string& name) { return shaders().find(name); },
                    .nodes = cuda::nodes_of_gpus()},
      told);
}

[[maybe_unused]] const bool kRegistered = register_engine({.name = kBroken,
                                                           .summary = "for tests",
                                                           .priority = -10,
                                                           .settings = {},
                                                           .probe = [] { return Availability{true, "always"}; },
                                                           .create = make});

/// Allocates all memory of the GPU until give_back().
class Hoarder {
 public:
  void take() {
    for (std::size_t bytes = std::size_t{1} << 40; bytes >= 4096; bytes /= 2) {
      void* memory = nullptr;
      while (cudaMalloc(&memory, bytes) == cudaSuccess) taken_.push_back(memory);
    }
    cudaGetLastError();
  }
  void give_back() {
    for (void* memory : taken_) cudaFree(memory);
    taken_.clear();
  }
  bool has_some() const { return !taken_.empty(); }

 private:
  std::vector<void*> taken_;
} hoarder;

/// This stream is outside the engines, for breaking the process's context.
cudaStream_t stream_beside = nullptr;

/// Makes another engine of the process lose the GPU while the router's engine uses it.
void lose_beside() {
  static const echo_view kView{1};
  static Table table("echo");
  table.publish(kView, {});
  const std::unique_ptr<Engine> engine = make({});
  engine->use_table(table);
  const auto queue = engine->open_queue();
  const std::vector<std::uint32_t> in(64);
  std::vector<std::uint16_t> out(in.size());
  Batch batch;
  batch.shader = engine->find_shader("echo");
  batch.table = &table;
  batch.items = static_cast<std::uint32_t>(in.size());
  batch.inputs = {in.data()};
  batch.outputs = {out.data()};
  broken = launch_endless;
  if (queue->submit(batch) == EngineQueue::Submitted::done) return;
  while (queue->poll() == nullptr) std::this_thread::yield();
}

void prepare() {
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream_beside, cudaStreamNonBlocking), cudaSuccess);
  EXPECT_EQ(load_broken_kernels(), cudaSuccess);
}

bool is_lost_for_ever() {
  return cuda::probe_gpu().reason.find("; lost: ") != std::string::npos;
}

struct Case {
  const char* name;
  const char* engine;
  void (*begin)();  ///< Runs before the router exists.
  void (*fail)();   ///< Runs during traffic.
  /// Returns true once the failure has been noticed and, if it is not final, the GPU works again. The test polls this
  /// function.
  bool (*is_over)();
};

std::ostream& operator<<(std::ostream& out, const Case& of) {
  return out << of.name;
}

/// Runs the case in its own process, which exits with 0 on success.
[[noreturn]] void forward_and_exit(const Case& of) {
  alarm(150);  // A router that never ends is a failure too.
  of.begin();
  forward_while_it_fails(of.engine, of.fail, of.is_over);
  std::exit(testing::Test::HasFailure() ? 1 : 0);
}

class RouterOnABrokenGpuDeathTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const std::string own = GetParam().engine;
    const std::string engine = own == kBroken || own == "auto" ? "cuda" : own;
    const Availability found = std::ranges::find(engines(), engine, &EngineInfo::name)->probe();
    if (!found.available) GTEST_SKIP() << found.reason;
  }
};

TEST_P(RouterOnABrokenGpuDeathTest, LosesNoPacketWithIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // CUDA needs a freshly started process instead of a forked one.
  EXPECT_EXIT(forward_and_exit(GetParam()), testing::ExitedWithCode(0), "");
}

std::uint64_t launches_before = 0;
bool gpu_is_back() {
  return broken == nullptr && launches > launches_before + 100;
}
template <Broken kKernel>
void break_next() {
  launches_before = launches;
  broken = kKernel;
}

INSTANTIATE_TEST_SUITE_P(
    Faults, RouterOnABrokenGpuDeathTest,
    testing::Values(Case{"LaunchRefused", kBroken, prepare, break_next<launch_refused>, gpu_is_back},
                    Case{"KernelTraps", kBroken, prepare, break_next<launch_trap>, is_lost_for_ever},
                    Case{"KernelNeverEnds", kBroken, prepare, break_next<launch_endless>, is_lost_for_ever},
                    Case{"NoMemory", kBroken, [] { hoarder.take(); },
                         [] {
                           EXPECT_TRUE(hoarder.has_some());
                           EXPECT_EQ(launches, 0U) << "the GPU had memory left for the router";
                           hoarder.give_back();
                         },
                         gpu_is_back},
                    Case{"ContextBreaksUnderTheResidentKernel", "cuda-resident", prepare,
                         [] { EXPECT_EQ(launch_trap(stream_beside), cudaSuccess); }, is_lost_for_ever},
                    Case{"KernelNeverEndsBesideAuto", "auto", prepare, lose_beside, is_lost_for_ever}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace penumbra::runtime
