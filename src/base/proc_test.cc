// SPDX-License-Identifier: Apache-2.0
#include "base/proc.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/scratch_folder.h"

namespace penumbra {
namespace {

TEST(ProcValue, IsTheFirstOfThatKeyWithoutBlanks) {
  const ScratchFolder folder;
  std::ofstream(folder / "info")
      << "model\t\t: 143\nmodel name\t: A B: C \nmodel name\t: D\nempty:\nMemTotal:   12 kB\n";
  EXPECT_EQ(proc_value(folder / "info", "model name"), "A B: C");
  EXPECT_EQ(proc_value(folder / "info", "model"), "143");
  EXPECT_EQ(proc_value(folder / "info", "MemTotal"), "12 kB");
  EXPECT_EQ(proc_value(folder / "info", "empty"), "");
  EXPECT_EQ(proc_value(folder / "info", "mode"), "");
  EXPECT_EQ(proc_value(folder / "none", "model"), "");
}

TEST(AvailableMemory, IsSomeOfAll) {
  const std::string all = proc_value("/proc/meminfo", "MemTotal");
  EXPECT_GT(available_memory(), 0U);
  EXPECT_LE(available_memory(), std::stoull(all) * 1024);
}

}  // namespace
}  // namespace penumbra
