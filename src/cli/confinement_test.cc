// SPDX-License-Identifier: Apache-2.0
//
// A child process is confined, and tells what it can still do.
#include "cli/confinement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <thread>
#include <vector>

#include "base/sanitizer_scale.h"

namespace penumbra::cli {
namespace {

/// Returns whether `holds` is true in a confined child process.
bool in_confinement(FileAccess access, const std::function<bool()>& holds) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      confine(access);
      _exit(holds() ? 0 : 1);
    } catch (const std::exception&) {
      _exit(2);
    }
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) <= 1) << status;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool is_refused(long result) {
  return result == -1 && errno == EPERM;
}

TEST(Confinement, RefusesWhatAnIntruderWants) {
  if (PENUMBRA_SANITIZED) GTEST_SKIP() << "sanitizers have no filter";
  EXPECT_TRUE(in_confinement(FileAccess::none, [] { return is_refused(open("/dev/null", O_RDONLY)); }));
  EXPECT_TRUE(in_confinement(FileAccess::none, [] { return is_refused(socket(AF_INET, SOCK_STREAM, 0)); }));
  EXPECT_TRUE(in_confinement(FileAccess::none, [] { return is_refused(execl("/bin/true", "true", nullptr)); }));
  EXPECT_TRUE(in_confinement(FileAccess::none, [] { return is_refused(fork()); }));
  EXPECT_TRUE(in_confinement(FileAccess::none, [] { return is_refused(kill(getppid(), 0)); }));
  EXPECT_TRUE(in_confinement(FileAccess::none, [] {
    return mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
  }));
}

TEST(Confinement, LetsFilesBeReadIfWanted) {
  if (PENUMBRA_SANITIZED) GTEST_SKIP() << "sanitizers have no filter";
  EXPECT_TRUE(in_confinement(FileAccess::read, [] { return open("/dev/null", O_RDONLY) >= 0; }));
  for (const int flags : {O_WRONLY, O_RDWR, O_RDONLY | O_CREAT, O_RDONLY | O_TRUNC}) {
    EXPECT_TRUE(in_confinement(FileAccess::read, [flags] { return is_refused(open("/dev/null", flags, 0600)); }));
  }
}

TEST(Confinement, KeepsOpenFilesAndMemory) {
  EXPECT_TRUE(in_confinement(FileAccess::none, [] {
    const std::vector<char> memory(std::size_t{1} << 24, 'a');
    return write(STDOUT_FILENO, "", 0) == 0 && memory.back() == 'a';
  }));
}

TEST(Confinement, BindsThreadsThatRun) {
  if (PENUMBRA_SANITIZED) GTEST_SKIP() << "sanitizers have no filter";
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> step{0};
    std::thread other([&step] {
      step = 1;
      while (step.load() == 1) std::this_thread::yield();
      _exit(is_refused(socket(AF_INET, SOCK_STREAM, 0)) ? 0 : 1);
    });
    while (step.load() == 0) std::this_thread::yield();
    confine(FileAccess::none);
    step = 2;
    other.join();
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace penumbra::cli
