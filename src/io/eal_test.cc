// SPDX-License-Identifier: Apache-2.0
#include "io/eal.h"

#include <gmock/gmock.h>
#include <rte_eal.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <sched.h>

#include <cstdio>
#include <thread>

#include "base/testing_stderr_pipe.h"
#include "io/log_capture.h"
#include "io/memory.h"
#include "io/test_support.h"

namespace penumbra::io::test {
namespace {

using ::testing::HasSubstr;

TEST(StartEal, FindsItsArgumentsAndLeavesTheProcessAsItWas) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const Environment& environment = start_eal({}, 2);
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
  EXPECT_THAT(environment.arguments, HasSubstr("--no-pci"));
  EXPECT_THAT(environment.arguments, HasSubstr(environment.huge_pages ? "--huge-dir" : "--no-huge"));
  EXPECT_THAT(environment.memory, HasSubstr(environment.huge_pages ? "huge pages, " : "no huge pages ("));
  EXPECT_FALSE(std::filesystem::exists(rte_eal_get_runtime_dir()));
  EXPECT_EQ(&start_eal({}, 4), &environment);
}

TEST(DpdkLog, NeverWaitsForAReader) {
  start_eal({}, 2);
  const StderrPipe pipe;
  pipe.fill_but(0);
  rte_log(RTE_LOG_ERR, RTE_LOGTYPE_USER1, "one\ntwo\n");
  pipe.drain();
  rte_log(RTE_LOG_ERR, RTE_LOGTYPE_USER1, "three, ");
  rte_log(RTE_LOG_ERR, RTE_LOGTYPE_USER1, "four\n");
  EXPECT_EQ(texts_of(pipe.drain()), "2 lines of the log were lost: standard error took no more\nDPDK: three, four\n");
}

TEST(DpdkLog, IsCapturedForAnError) {
  start_eal({}, 2);
  const StderrPipe pipe;
  {
    const LogCapture log;
    const StderrCapture errors;
    rte_log(RTE_LOG_ERR, RTE_LOGTYPE_USER1, "EAL: no memory\n");
    std::fprintf(stderr, "EAL: FATAL: no memory\nbad\n");
    EXPECT_EQ(log.text(), "EAL: no memory; bad");
  }
  EXPECT_EQ(pipe.drain(), "");
  std::fprintf(stderr, "direct\n");
  rte_log(RTE_LOG_ERR, RTE_LOGTYPE_USER1, "after\n");
  EXPECT_TRUE(pipe.drain().ends_with(" DPDK: after\n"));
}

TEST(RegisterThread, GivesEachThreadItsNumberAndTakesItBack) {
  start_eal({}, 2);
  register_thread();
  EXPECT_EQ(rte_lcore_id(), 0U);  // DPDK's main thread keeps its number.
  // Starts more threads, one after another, than DPDK has numbers for.
  for (int i = 0; i < 2 * RTE_MAX_LCORE; ++i) {
    std::thread([] {
      EXPECT_EQ(rte_lcore_id(), LCORE_ID_ANY);
      register_thread();
      EXPECT_NE(rte_lcore_id(), LCORE_ID_ANY);
      register_thread();
    }).join();
  }
}

/// Simulates a machine with free huge pages of 4 KiB, so that an ordinary folder looks like a hugetlbfs of that page
/// size.
class FindHugePages : public ::testing::Test {
 protected:
  void offer(const std::string& pages, const std::string& type) {
    std::filesystem::create_directories(folder_ / "hugepages/hugepages-4kB");
    std::ofstream(folder_ / "hugepages/hugepages-4kB/free_hugepages") << pages << "\n";
    std::ofstream(folder_ / "mounts") << "proc /proc proc rw 0 0\nnodev " << (folder_ / "").string() << " " << type
                                      << " rw 0 0\n";
  }
  HugePages find(std::uint64_t bytes) { return find_huge_pages(bytes, folder_ / "hugepages", folder_ / "mounts"); }
  ScratchFolder folder_;
};

TEST_F(FindHugePages, TakesWhatSuffices) {
  offer("256", "hugetlbfs");
  const HugePages pages = find(1 << 20);
  if (pages.page_bytes == 0) GTEST_SKIP() << "the file system of " << folder_ / "" << " has no blocks of 4 KiB";
  EXPECT_EQ(pages.page_bytes, 4096U);
  EXPECT_EQ(pages.mount, (folder_ / "").string());
}

TEST_F(FindHugePages, SaysWhatIsMissing) {
  EXPECT_THAT(find(1).obstacle, HasSubstr("none are reserved"));
  offer("0", "hugetlbfs");
  EXPECT_THAT(find(1).obstacle, HasSubstr("none are reserved"));
  offer("256", "hugetlbfs");
  EXPECT_THAT(find((1 << 20) + 1).obstacle, HasSubstr("only 1 MiB free in pages of 4 KiB, 2 MiB needed"));
  offer("256", "tmpfs");
  EXPECT_THAT(find(1).obstacle, HasSubstr("no hugetlbfs for pages of 4 KiB"));
}

}  // namespace
}  // namespace penumbra::io::test
