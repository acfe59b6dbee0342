// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string>

namespace penumbra {
namespace {

using std::chrono::milliseconds;
using Time = std::chrono::system_clock::time_point;

/// Sets the local time zone during its lifetime.
class Zone {
 public:
  explicit Zone(const char* name) {
    setenv("TZ", name, 1);
    tzset();
  }
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;
  ~Zone() {
    unsetenv("TZ");
    tzset();
  }
};

/// Replaces standard error by a pipe during its lifetime.
class StderrPipe {
 public:
  StderrPipe() : before_(::dup(STDERR_FILENO)) {
    if (::pipe(ends_.data()) != 0) std::abort();
    ::dup2(ends_[1], STDERR_FILENO);
  }
  StderrPipe(const StderrPipe&) = delete;
  StderrPipe& operator=(const StderrPipe&) = delete;
  ~StderrPipe() {
    ::dup2(before_, STDERR_FILENO);
    for (const int each : {before_, ends_[0], ends_[1]}) ::close(each);
  }

  /// Fills the pipe completely and then reads `bytes` bytes.
  void fill_but(std::size_t bytes) const {
    const int flags = ::fcntl(ends_[1], F_GETFL);
    ::fcntl(ends_[1], F_SETFL, flags | O_NONBLOCK);
    const std::array<char, 4096> page{};
    while (::write(ends_[1], page.data(), page.size()) > 0) continue;
    ::fcntl(ends_[1], F_SETFL, flags);
    read_bytes(bytes);
  }
  /// Reads and returns the content of the pipe.
  std::string drain() const {
    const int flags = ::fcntl(ends_[0], F_GETFL);
    ::fcntl(ends_[0], F_SETFL, flags | O_NONBLOCK);
    std::string all = read_bytes(std::size_t{1} << 20);
    ::fcntl(ends_[0], F_SETFL, flags);
    return all;
  }

 private:
  std::string read_bytes(std::size_t bytes) const {
    std::string all;
    std::array<char, 4096> page{};
    while (all.size() < bytes) {
      const ssize_t count = ::read(ends_[0], page.data(), std::min(page.size(), bytes - all.size()));
      if (count <= 0) break;
      all.append(page.data(), static_cast<std::size_t>(count));
    }
    return all;
  }

  int before_;
  std::array<int, 2> ends_{};
};

/// Returns the lines without their times.
std::string texts_of(const std::string& log) {
  constexpr std::size_t kTime = sizeof "2026-11-27T08:00:00.042+00:00 " - 1;
  std::string texts;
  for (std::size_t at = 0; at < log.size(); at = log.find('\n', at) + 1) {
    texts += log.substr(std::min(at + kTime, log.size()), log.find('\n', at) + 1 - at - kTime);
  }
  return texts;
}

TEST(Log, ToAFullPipeWaitsForNobodyAndTellsWhatIsLost) {
  const StderrPipe pipe;
  pipe.fill_but(0);
  log_info("one");
  log_warning("two\nthree");
  EXPECT_FALSE(write_to_stderr("progress"));
  pipe.drain();
  log_info("four");
  log_info("five");
  EXPECT_EQ(texts_of(pipe.drain()), "3 lines of the log were lost: standard error took no more\nfour\nfive\n");
  pipe.fill_but(0);
  log_info("six");
  pipe.drain();
  log_info("seven");
  EXPECT_EQ(texts_of(pipe.drain()), "1 line of the log was lost: standard error took no more\nseven\n");
  EXPECT_TRUE(write_to_stderr("progress"));
  EXPECT_EQ(pipe.drain(), "progress");
}

TEST(Log, CutsALineThatAPipeMayNotTakeAtOnce) {
  const StderrPipe pipe;
  pipe.fill_but(4096);
  log_info(std::string(100'000, 'x'));  // blocks if the line is written whole
  const std::string log = pipe.drain();
  EXPECT_TRUE(log.ends_with("x... (100030 bytes)\n")) << log.substr(log.size() - 60);
  EXPECT_FALSE(write_to_stderr(std::string(5000, 'x')));
}

TEST(LogLines, BeginWithTheLocalTime) {
  const Time time(milliseconds(1'795'766'400'042));
  {
    const Zone utc("UTC0");
    EXPECT_EQ(log_lines(LogLevel::info, "port 'wan': link up", false, time),
              "2026-11-27T08:00:00.042+00:00 port 'wan': link up\n");
  }
  const Zone newfoundland("NST3:30");
  EXPECT_EQ(log_lines(LogLevel::warning, "x", false, time), "2026-11-27T04:30:00.042-03:30 x\n");
}

TEST(LogLines, BeginWithThePriorityForTheJournal) {
  EXPECT_EQ(log_lines(LogLevel::error, "x", true, Time{}), "<3>x\n");
  EXPECT_EQ(log_lines(LogLevel::warning, "x", true, Time{}), "<4>x\n");
  EXPECT_EQ(log_lines(LogLevel::info, "x", true, Time{}), "<6>x\n");
}

TEST(LogLines, AreAsManyAsTheTextHas) {
  EXPECT_EQ(log_lines(LogLevel::info, "a\nb\n", true, Time{}), "<6>a\n<6>b\n");
  EXPECT_EQ(log_lines(LogLevel::info, "", true, Time{}), "");
}

TEST(Journal, IsWhatTheVariableNames) {
  struct stat status{};
  ASSERT_EQ(fstat(STDERR_FILENO, &status), 0);
  const std::string here = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
  EXPECT_TRUE(is_journal(STDERR_FILENO, here.c_str()));
  EXPECT_FALSE(is_journal(STDERR_FILENO, (here + "1").c_str()));
  EXPECT_FALSE(is_journal(STDERR_FILENO, ("1" + here).c_str()));
  EXPECT_FALSE(is_journal(STDERR_FILENO, nullptr));
  EXPECT_FALSE(is_journal(STDERR_FILENO, ""));
  EXPECT_FALSE(is_journal(-1, here.c_str()));
}

}  // namespace
}  // namespace penumbra
