// SPDX-License-Identifier: Apache-2.0
#include "io/quiet_interface.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace penumbra::io {
namespace {

const std::string kForwarding = "/proc/sys/net/ipv4/conf/lo/forwarding";

std::string read(const std::string& file) {
  std::string content;
  std::getline(std::ifstream(file), content);
  return content;
}

/// Runs the test in a new network namespace in which "lo" forwards. Skips the test if this user may not create one.
void in_own_namespace(const std::function<void()>& test) {
  bool may = false;
  std::thread([&] {
    if (unshare(CLONE_NEWNET) != 0) return;
    std::ofstream(kForwarding) << "1" << std::flush;
    may = read(kForwarding) == "1";
    if (may) test();
  }).join();
  if (!may) GTEST_SKIP() << "it takes root and a /proc/sys that can be written";
}

TEST(QuietInterface, TheLastHolderGivesTheSettingsBack) {
  in_own_namespace([] {
    auto first = std::make_unique<QuietInterface>("lo");
    EXPECT_TRUE(first->failures().empty());
    auto second = std::make_unique<QuietInterface>("lo");
    EXPECT_EQ(read(kForwarding), "0");
    first.reset();
    EXPECT_EQ(read(kForwarding), "0");
    second.reset();
    EXPECT_EQ(read(kForwarding), "1");
  });
}

TEST(QuietInterface, IsQuietForEachOfSeveralThreads) {
  in_own_namespace([] {
    constexpr unsigned kThreads = 3;
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (unsigned i = 0; i < kThreads; ++i) {
      threads.emplace_back([] {
        for (unsigned j = 0; j < 100; ++j) {
          const QuietInterface quiet("lo");
          EXPECT_EQ(read(kForwarding), "0");
        }
      });
    }
    threads.clear();
    EXPECT_EQ(read(kForwarding), "1");
  });
}

TEST(QuietInterface, AnInterfaceThatIsGoneHasNoSettings) {
  const QuietInterface first("no-such-if"), second("no-such-if");
  EXPECT_TRUE(first.failures().empty());
  EXPECT_TRUE(second.failures().empty());
}

}  // namespace
}  // namespace penumbra::io
