// SPDX-License-Identifier: Apache-2.0
#include "cuda/locality.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/scratch_folder.h"
#include "cuda/engine.h"
#include "cuda/fake_world_test.h"

namespace penumbra::cuda {
namespace {

TEST(CudaLocality, IsReadFromSys) {
  const ScratchFolder sys;
  std::filesystem::create_directories(sys / "devices/system/cpu/cpu7/node_x");
  std::filesystem::create_directories(sys / "devices/system/cpu/cpu7/node1");
  std::filesystem::create_directories(sys / "devices/system/cpu/cpu8/cache");
  std::filesystem::create_directories(sys / "bus/pci/devices/0000:3b:00.0");
  std::ofstream(sys / "bus/pci/devices/0000:3b:00.0/numa_node") << "2\n";
  EXPECT_EQ(node_of_core(7, sys.path()), 1);
  EXPECT_EQ(node_of_core(8, sys.path()), -1);
  EXPECT_EQ(node_of_core(9, sys.path()), -1);
  EXPECT_EQ(node_of_pci("0000:3b:00.0", sys.path()), 2);
  EXPECT_EQ(node_of_pci("0000:3c:00.0", sys.path()), -1);
}

TEST(CudaLocality, PrefersTheWorkersNodeAndThenTheFewestQueues) {
  constexpr std::array kNodes{0, 1, 1};
  EXPECT_EQ(nearest(kNodes, std::array{9U, 5U, 4U}, 0), 0U);
  EXPECT_EQ(nearest(kNodes, std::array{0U, 5U, 4U}, 1), 2U);
  EXPECT_EQ(nearest(kNodes, std::array{0U, 4U, 4U}, 1), 1U);
  EXPECT_EQ(nearest(kNodes, std::array{3U, 4U, 2U}, 7), 2U);
  EXPECT_EQ(nearest(kNodes, std::array{1U, 2U, 1U}, -1), 0U);
}

/// Returns the cores on which the thread with this name may run.
cpu_set_t cores_of_thread(const std::string& name) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    std::string own;
    if (!std::getline(file, own) || own != name) continue;
    sched_getaffinity(std::stoi(task.path().filename().string()), sizeof cores, &cores);
  }
  return cores;
}

TEST(CudaMaster, StaysOffTheWorkersCores) {
  cpu_set_t all;
  CPU_ZERO(&all);
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "there is one core";
  FakeWorld world;
  CudaEngine engine(world.backend(), LaunchOptions{});
  std::vector<std::unique_ptr<EngineQueue>> queues;
  cpu_set_t left = all;
  for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &all)) continue;
    std::thread pinned([&] {  // Threads inherit the cores of the thread that starts them.
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(core, &one);
      sched_setaffinity(0, sizeof one, &one);
      queues.push_back(engine.open_queue_for(core));
    });
    pinned.join();
    CPU_CLR(core, &left);
    const cpu_set_t found = cores_of_thread("cuda-master");
    const cpu_set_t& wanted = CPU_COUNT(&left) > 0 ? left : all;
    EXPECT_TRUE(CPU_EQUAL(&found, &wanted)) << core;
  }
}

}  // namespace
}  // namespace penumbra::cuda
