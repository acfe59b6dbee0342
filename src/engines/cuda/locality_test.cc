// SPDX-License-Identifier: Apache-2.0
#include "cuda/locality.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "base/scratch_folder.h"

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

}  // namespace
}  // namespace penumbra::cuda
